DROP TABLE client_string_change;
