"""The comparison itself: pure reading, joining and classifying. No network, no environment, no printing."""
