"""The built site, looked at in a real browser as a reader would, and link by link."""
