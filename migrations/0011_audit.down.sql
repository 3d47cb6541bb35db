DROP TABLE audit_entry, audit_block, audit_chain;
DROP FUNCTION refuse_audit_change();
