DROP TABLE listener;
DROP TABLE staged_body;
ALTER TABLE api_key DROP requests_per_second_max;
ALTER TABLE tenant DROP stored_bytes_max, DROP in_flight_bytes_max, DROP egress_rules;
