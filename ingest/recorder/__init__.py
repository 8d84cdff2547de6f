"""The recorder: every minute every venue is asked within its limits, and its streams are listened to."""
