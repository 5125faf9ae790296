// The same of Pinocchio in C++: arguments model (text archive), calls.
#include <pinocchio/multibody.hpp>
#include <pinocchio/serialization.hpp>

#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/regressor.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int, char **arguments)
{
    pinocchio::Model model;
    model.loadFromText(arguments[1]);
    pinocchio::Data data(model);
    const int states = 64, calls = std::atoi(arguments[2]);
    model.lowerPositionLimit.setConstant(-1);
    model.upperPositionLimit.setConstant(1);
    std::vector<Eigen::VectorXd> q, v, a;
    for (int i = 0; i < states; ++i) {
        q.push_back(pinocchio::randomConfiguration(model));
        v.push_back(Eigen::VectorXd::Random(model.nv));
        a.push_back(Eigen::VectorXd::Random(model.nv));
    }
    double sum = 0;
    for (int kind = 0; kind < 3; ++kind) {
        std::vector<double> seconds;
        for (int repeat = 0; repeat < 7; ++repeat) {
            const auto start = std::chrono::steady_clock::now();
            for (int i = 0; i < calls; ++i) {
                const int k = i % states;
                if (kind == 0)
                    sum += pinocchio::computeGeneralizedGravity(model, data, q[k])[0];
                else if (kind == 1)
                    sum += pinocchio::rnea(model, data, q[k], v[k], a[k])[0];
                else
                    sum += pinocchio::computeJointTorqueRegressor(model, data, q[k], v[k], a[k])(0, 0);
            }
            seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls);
        }
        std::sort(seconds.begin(), seconds.end());
        std::printf("%.6g\n", seconds[3]);
    }
    return sum == 12345.0;
}
