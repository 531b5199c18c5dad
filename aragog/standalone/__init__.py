"""Run the whole system on one machine: private servers, workers, beat, Flower, a supervisor."""
