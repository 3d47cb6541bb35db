DROP TABLE background_task_transfer, background_task_run, background_task_request,
    background_task_handler, assertion_leak, assertion, client_resumption, timer;
