"""The schedule of beat, where Celery projects keep it; its text is `aragog/beat_schedule.py`."""

from aragog.beat_schedule import beat_schedule

__all__ = ["beat_schedule"]
