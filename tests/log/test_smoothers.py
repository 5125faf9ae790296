"""Savitzky-Golay and Kalman smoothers against SciPy, closed forms, dense linear algebra and known motion."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg, signal, stats

from properties import tried
from steelyard.errors import LogError, OptionError
from steelyard.log import Log, filters, kalman, savgol
from steelyard.log.kalman import covariances
from steelyard.log.smoothers import BUTTERWORTH, KALMAN, SAVGOL, SMOOTHERS, derivatives, order_of, response

pytestmark = pytest.mark.claim("logs.filters")


def relative(found, expected):
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


def measured_gain(smoother, rate, frequency, cutoff, order, derivative=0):
    """Complex gain on a derivative of a wave, relative to the exact one, far from the ends."""
    t = np.arange(0, 40 / cutoff, 1 / rate)
    wave, turn = np.exp(2j * np.pi * frequency * t), 2j * np.pi * frequency
    y = derivatives(smoother, t, np.column_stack([wave.real, wave.imag]), cutoff, order, derivative)[derivative]
    inner = slice(len(t) // 3, -len(t) // 3)
    return np.mean((y[inner, 0] + 1j * y[inner, 1]) / (turn**derivative * wave[inner]))


@tried(20)
@given(rate=st.floats(20, 2000), share=st.floats(0.02, 0.15), degree=st.integers(2, 8), ratio=st.floats(0.1, 2.0))
def test_savgol_has_the_response_it_says_and_its_cutoff(rate, share, degree, ratio):
    cutoff = share * rate
    for derivative in range(3):
        said = savgol.response(np.array([ratio, 1.0]) * cutoff, 1 / rate, cutoff, degree, derivative)
        found = measured_gain(SAVGOL, rate, ratio * cutoff, cutoff, degree, derivative)
        assert found == pytest.approx(said[0], abs=1e-9)
        assert said[1] == pytest.approx(np.sqrt(0.5), abs=1e-9)


@pytest.mark.parametrize("degree", [2, 4, 6])
def test_savgol_has_one_response(degree):
    """Value and rate have that of SciPy's acceleration, and the less so the fewer samples a window has."""
    wave = np.geomspace(0.05, 2, 300)
    for reach, tolerance in ((6, 0.1), (20, 3e-3), (40, 1e-3)):
        turn = 2 * np.pi * wave * degree / 6 / reach
        cosine = np.cos(np.multiply.outer(turn, np.arange(-reach, reach + 1)))
        expected = cosine @ signal.savgol_coeffs(2 * reach + 1, degree, deriv=2, use="dot") / -(turn**2)
        k = int(np.argmax(expected < np.sqrt(0.5)))
        cutoff = np.interp(-np.sqrt(0.5), -expected[k - 1 : k + 1], turn[k - 1 : k + 1]) / (2 * np.pi)
        for derivative in range(3):
            found = savgol.response(turn / (2 * np.pi), 1.0, cutoff, degree, derivative)
            assert np.abs(found - expected).max() < tolerance
        plain = cosine @ signal.savgol_coeffs(2 * reach + 1, degree, use="dot")
        assert np.abs(plain - expected).max() > 0.1  # Savitzky and Golay's own value has another response


@pytest.mark.parametrize(("reach", "degree"), [(3, 2), (8, 4), (20, 5)])
def test_savgol_weights_are_scipys_for_whole_windows(reach, degree):
    """Of the acceleration; of the others they fit polynomials best with the weights of biweight and Epanechnikov."""
    step = 0.01
    half = (reach + 0.5) * step
    for derivative in range(3):
        offset, kernel = savgol._even(half, step, degree, derivative)
        inside = np.abs(offset) < half
        u = offset[inside] / half
        if derivative == 2:
            expected = signal.savgol_coeffs(2 * reach + 1, degree, deriv=2, delta=step, use="dot")
        else:
            root = np.sqrt(1 - u**2) ** (2 - derivative)
            unit = np.eye(len(u))
            fits = [np.polyfit(u, unit[i], degree - 2 + derivative, w=root) for i in range(len(u))]
            expected = np.array([fit[-1 - derivative] for fit in fits]) / half**derivative
        np.testing.assert_allclose(kernel[inside], expected, atol=1e-9 * abs(expected).max())


def test_savgol_keeps_polynomials_at_any_stamps_to_the_ends():
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(0, 4, 400))
    for d in range(3):  # of degree 4, 5 and 6
        curve = np.polynomial.Polynomial(rng.normal(size=5 + d))
        found = savgol.derivatives(t, curve(t)[:, None], 6.0, 6, 2)
        expected = curve.deriv(d)(t) if d else curve(t)
        np.testing.assert_allclose(found[d, :, 0], expected, rtol=0, atol=1e-7 * 10**d * np.abs(expected).max())
        higher = np.polynomial.Polynomial(rng.normal(size=9))
        assert relative(savgol.derivatives(t, higher(t)[:, None], 6.0, 6, 2)[d, :, 0], higher.deriv(d)(t)) > 1e-8


def test_savgol_at_even_stamps_is_the_same_filter():
    rng = np.random.default_rng(5)
    t, x = np.arange(300) * 0.01, rng.normal(size=(300, 2))
    shaken = t + 1e-7 * rng.uniform(-1, 1, 300)  # no longer even, for the code
    for even, other in zip(savgol.derivatives(t, x, 4.0, 4, 2), savgol.derivatives(shaken, x, 4.0, 4, 2), strict=True):
        assert relative(even, other) < 1e-4


def test_savgol_refuses_what_it_cannot_do():
    t = np.arange(100) * 0.01
    with pytest.raises(LogError, match=r"does not fit into 0.99 s; use a higher cutoff"):
        savgol.derivatives(t, np.ones((100, 1)), 0.5, 4, 2)
    sparse = np.concatenate([t, 1.0 + 0.045 * np.arange(1, 40)])
    with pytest.raises(LogError, match="hold fewer than 5 samples"):
        savgol.derivatives(sparse, np.ones((len(sparse), 1)), 15.0, 4, 2)


def jerk_model(step, density):
    """Transition and process covariance of a triple integrator driven by white jerk, by Van Loan's exponential."""
    A = np.diag([1.0, 1.0], 1)
    block = np.zeros((6, 6))
    block[:3, :3], block[:3, 3:], block[3:, 3:] = -A, np.diag([0, 0, density]), A.T
    exponential = linalg.expm(block * step)
    F = exponential[3:, 3:].T
    return F, F @ exponential[:3, 3:]


@pytest.mark.parametrize(("rate", "cutoff"), [(100.0, 5.0), (1000.0, 8.0), (50.0, 12.0)])
def test_kalman_settles_at_the_riccati_solution(rate, cutoff):
    density = kalman.density_ratio(cutoff, 1 / rate)
    F, Q = jerk_model(1 / rate, density)
    predicted = linalg.solve_discrete_are(F.T, np.array([[1.0], [0], [0]]), Q, np.eye(1))
    gain = predicted[:, 0] / (predicted[0, 0] + 1)
    t = np.arange(round(12 * rate / cutoff)) / rate
    gains, _, variance, filtered = covariances(t, 1.0, density, False)
    np.testing.assert_allclose(gains[-1], gain, rtol=1e-6)
    np.testing.assert_allclose(variance[-1], predicted[0, 0] + 1, rtol=1e-6)
    np.testing.assert_allclose(filtered[-1], predicted - np.outer(gain, predicted[0]), rtol=1e-5)
    smoothed = linalg.solve_discrete_lyapunov(*smoother_equation(F, predicted, gain))
    middle = covariances(t, 1.0, density, True)[3][len(t) // 2]
    np.testing.assert_allclose(middle, smoothed, rtol=1e-5, atol=1e-9 * np.abs(smoothed).max())


def smoother_equation(F, predicted, gain):
    """(A, B) of `P = A P A^T + B`, the covariance of the steady smoother."""
    filtered = predicted - np.outer(gain, predicted[0])
    back = filtered @ F.T @ np.linalg.inv(predicted)
    return back, filtered - back @ predicted @ back.T


@pytest.mark.parametrize(("rate", "cutoff"), [(200.0, 5.0), (60.0, 12.0)])
def test_kalman_response_is_butterworths_of_order_three(rate, cutoff):
    for share in (0.3, 0.7, 1.0, 1.5):
        expected = response(KALMAN, np.array([share * cutoff]), 1 / rate, cutoff, 3)[0]
        gains = [measured_gain(KALMAN, rate, share * cutoff, cutoff, 3, d) for d in range(3)]
        np.testing.assert_allclose(gains, expected, atol=2e-3 if rate > 100 else 0.03)
        spline = measured_gain(BUTTERWORTH, rate, share * cutoff, cutoff, 3)
        assert gains[0] == pytest.approx(spline, abs=1e-4)
    assert abs(measured_gain(KALMAN, rate, cutoff, cutoff, 3)) == pytest.approx(np.sqrt(0.5), abs=1e-4)


def test_kalman_is_regression_on_the_process_at_any_stamps():
    """Against the dense Gaussian process: covariance of white noise integrated three times, free at the start."""
    rng = np.random.default_rng(1)
    t = np.cumsum(rng.uniform(0.005, 0.02, 80))
    x = np.sin(9 * t)[:, None] * [1.0, 3.0] + 0.01 * rng.normal(size=(80, 2))
    found = kalman.smooth(t, x, cutoff=6.0, noise=[0.01, 0.02])
    density = found.density[0]
    early, apart = np.minimum(t, t[:, None]), np.abs(t - t[:, None])
    K = density * (early**5 / 5 + apart * early**4 / 2 + apart**2 * early**3 / 3) / 4
    K += 1e4 * (1 + np.outer(t, t) + np.outer(t**2, t**2))
    inverse = np.linalg.inv(K + 1e-4 * np.eye(80))
    late = slice(8, None)
    np.testing.assert_allclose(found.value[late], (K @ inverse @ x)[late], atol=3e-5)
    spread = np.sqrt(np.diag(1e-4 * (np.eye(80) - 1e-4 * inverse)))
    np.testing.assert_allclose(found.value_deviation[late, 0], spread[late], rtol=1e-3)
    np.testing.assert_allclose(found.value_deviation[:, 1], 2 * found.value_deviation[:, 0])


def white_jerk(rng, density, step, count):
    """States (count, 3, k) of the process that the smoother believes in, and their times."""
    F, Q = jerk_model(step, density)
    root = np.linalg.cholesky(Q)
    x = np.zeros((count, 3, 40))
    for k in range(1, count):
        x[k] = F @ x[k - 1] + root @ rng.normal(size=(3, 40))
    return step * np.arange(count), x


def test_kalman_knows_its_bandwidth_its_noise_and_its_error():
    rng = np.random.default_rng(2)
    true, noise = 4.0, 0.02
    t, x = white_jerk(rng, noise**2 * kalman.density_ratio(true, 0.01), 0.01, 600)
    found = kalman.smooth(t, x[:, 0] + noise * rng.normal(size=(600, 40)))
    assert found.cutoff == pytest.approx(true, rel=0.05)
    assert np.median(found.noise) == pytest.approx(noise, rel=0.03)
    for i, key in enumerate(("value", "rate", "acceleration")):
        score = (getattr(found, key) - x[:, i]) / getattr(found, f"{key}_deviation")
        assert np.std(score[30:-30]) == pytest.approx(1, abs=0.05), key
    causal = kalman.smooth(t, x[:, 0] + noise * rng.normal(size=(600, 40)), cutoff=true, causal=True)
    assert np.std(causal.acceleration - x[:, 2]) > 1.5 * np.std(found.acceleration - x[:, 2])


def test_kalman_likelihood_is_that_of_the_dense_normal():
    """Differences of the likelihood between bandwidths, of what three samples and more add."""
    rng = np.random.default_rng(3)
    t = np.sort(rng.uniform(0, 2, 60))
    x = (np.sin(5 * t) + 0.02 * rng.normal(size=60))[:, None]
    early, apart = np.minimum(t, t[:, None]), np.abs(t - t[:, None])
    process = (early**5 / 5 + apart * early**4 / 2 + apart**2 * early**3 / 3) / 4
    free = 1e5 * (1 + np.outer(t, t) + np.outer(t**2, t**2))

    def dense(cutoff):
        covariance = free + np.eye(60) + kalman.density_ratio(cutoff, float(np.median(np.diff(t)))) * process
        squares, _ = kalman._innovations(t, x, cutoff)
        sigma = np.sqrt(np.mean(squares))
        first = stats.multivariate_normal(cov=sigma**2 * covariance[:3, :3]).logpdf(x[:3, 0])
        return stats.multivariate_normal(cov=sigma**2 * covariance).logpdf(x[:, 0]) - first

    found = [-kalman._unlikely(t, x, c) for c in (1.0, 2.0, 4.0)]
    np.testing.assert_allclose(np.diff(found), np.diff([dense(c) for c in (1.0, 2.0, 4.0)]), atol=0.3)


@pytest.mark.parametrize("smoother", SMOOTHERS)
def test_every_smoother_stays_between_gaps_and_takes_irregular_stamps(motion, smoother):
    rng = np.random.default_rng(4)
    t = np.arange(0, 10, 0.01) + 0.003 * rng.uniform(-1, 1, 1000)
    t = t[(t < 4) | (t > 4.4)]
    truth = motion(t)
    log = truth.replace(v=None, a=None)
    options = {"smoother": smoother, "cutoff": 12.0, "drop": 20}
    found = filters.differentiate(log, **options)
    kept = np.isin(t, found.t)
    assert len(found) == len(t) - 80
    assert relative(found.v, truth.v[kept]) < 2e-3 and relative(found.a, truth.a[kept]) < 1e-2
    beyond = np.where(t < 4.2, 0.0, 1e3)[:, None]
    other = filters.differentiate(log.replace(q=log.q + beyond), **options)
    np.testing.assert_allclose(other.a, found.a, atol=1e-4 * np.abs(found.a).max())
    assert smoother in found.notes[0].lower() or "Savitzky-Golay" in found.notes[0]


def test_every_smoother_keeps_a_linear_law():
    """tau = 2 a + 3 v of motion in the transition band: all, as their derivatives are those of one curve."""
    t = np.arange(0, 20, 0.005)
    q, v, a = np.sin(25 * t), 25 * np.cos(25 * t), -625 * np.sin(25 * t)
    log, left = Log(t=t, q=q, tau=2 * a + 3 * v), {}
    for smoother in SMOOTHERS:
        found = filters.differentiate(log, cutoff=4.0, drop=400, smoother=smoother)
        left[smoother] = relative(2 * found.a + 3 * found.v, found.tau)
    assert max(left.values()) < 1e-4
    whole = [signal.savgol_filter(q, 161, 6, deriv=d, delta=0.005) for d in range(3)]  # three filters do not
    assert (
        relative((2 * whole[2] + 3 * whole[1])[400:-400], signal.savgol_filter(log.tau[:, 0], 161, 6)[400:-400]) > 0.1
    )


def test_words_and_orders():
    assert [order_of(each, None) for each in SMOOTHERS] == [4, 3, 6]
    with pytest.raises(OptionError, match=r"smoother is 'median'. Choose from butterworth, kalman, savgol"):
        order_of("median", None)
    with pytest.raises(OptionError, match="order=4 of smoother 'kalman': expected 3 to 3"):
        order_of(KALMAN, 4)
    with pytest.raises(LogError, match="fewer than 10 samples"):
        kalman.smooth(np.arange(5.0), np.ones(5))
    with pytest.raises(LogError, match="nothing moves"):
        kalman.smooth(np.arange(50.0), np.ones(50))
