"""Recordings of ROS 1 and ROS 2, without ROS: MCAP, rosbag2 (SQLite or MCAP, a folder or a file), ROS 1 bags.

containers -> messages of each topic -> blocks of equal layout, decoded by NumPy -> streams -> channels
"""

from steelyard.log.ros.recording import read_bag1, read_bag2, read_mcap

__all__ = ["read_bag1", "read_bag2", "read_mcap"]
