DROP TABLE tenant_task_count;
DROP TABLE session_task_count;
DROP TABLE task_move;
