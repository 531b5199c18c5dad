"""The whole system on one machine: private servers, workers, beat, Flower, under one supervisor."""
