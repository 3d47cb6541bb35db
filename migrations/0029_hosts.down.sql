DROP TABLE host_tenant;
DROP TABLE host_decision;
DROP TABLE host;
