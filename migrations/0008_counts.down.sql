DROP TABLE task_count, tenant_task_count, session_task_count, task_move;
