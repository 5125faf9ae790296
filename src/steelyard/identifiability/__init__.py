"""What an experiment can reveal about a robot's inertial parameters, from its kinematics (paper C).

`identifiability(robot)` is the public function; the package of the same name holds what it is made of.
"""
