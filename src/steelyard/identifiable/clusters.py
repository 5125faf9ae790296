"""Joints that share coordinates: mimic joints, and rotors that are no `Spin`.

All nodes between the joints of a coordinate and the last body they have in common form a cluster.
"""

from dataclasses import dataclass

from steelyard.identifiable.mechanism import GROUND, Mechanism


@dataclass(frozen=True)
class Cluster:
    """members: nodes, ascending. coordinates: theirs, ascending. parent: the node they all hang on."""

    members: tuple[int, ...]
    coordinates: tuple[int, ...]
    parent: int


def clusters(mechanism: Mechanism) -> tuple[Cluster, ...]:
    """Smallest sets of nodes that share no coordinate with others; nodes with their own are left out."""
    sets = [_hull(mechanism, set(nodes)) for nodes in mechanism.riders if len(nodes) > 1]
    done: list[set[int]] = []
    while sets:
        current = sets.pop()
        touching = [other for other in done if _touch(mechanism, current, other)]
        if touching:
            done = [other for other in done if other not in touching]
            sets.append(_hull(mechanism, current.union(*touching)))
        else:
            done.append(current)
    return tuple(_cluster(mechanism, members) for members in done)


def _touch(mechanism: Mechanism, one: set[int], other: set[int]) -> bool:
    coordinates = {k for i in one for k in mechanism.nodes[i].coordinates}
    return bool(one & other) or any(k in coordinates for i in other for k in mechanism.nodes[i].coordinates)


def _hull(mechanism: Mechanism, nodes: set[int]) -> set[int]:
    """Nodes and all those between them and their last common ancestor."""
    paths = [[*mechanism.path(mechanism.nodes[i].parent), GROUND] for i in nodes]
    common = set(paths[0]).intersection(*map(set, paths[1:]))
    between = {step for path in paths for step in path} - common
    return nodes | between


def _cluster(mechanism: Mechanism, members: set[int]) -> Cluster:
    ordered = tuple(sorted(members))
    coordinates = sorted({int(k) for i in ordered for k in mechanism.nodes[i].coordinates})
    return Cluster(ordered, tuple(coordinates), mechanism.nodes[ordered[0]].parent)
