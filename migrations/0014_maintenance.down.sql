DROP TABLE pause;
