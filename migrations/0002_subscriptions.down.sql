DROP TABLE delivery, subscription;
