"""The same job by several tools, each as one of its users would write it; lines of these files are counted."""
