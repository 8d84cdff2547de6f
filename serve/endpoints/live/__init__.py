"""The market as it is now: snapshots of the newest minute and of the last hours and days."""
