"""Run all of aragog on one machine: private servers, workers, beat, Flower, a supervisor."""
