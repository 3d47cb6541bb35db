DROP TABLE result_hold;
