"""What each command does once its options are parsed: run an audit, save it, show it."""
