"""Recordings of ROS 1 and ROS 2, without ROS: MCAP, rosbag2 (SQLite or MCAP, a folder or a file), ROS 1 bags.

containers -> messages of each topic -> blocks of equal layout, decoded by NumPy -> streams -> channels"""
