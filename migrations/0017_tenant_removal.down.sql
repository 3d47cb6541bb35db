ALTER TABLE tenant DROP removed_at;
