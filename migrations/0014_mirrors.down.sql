-- Downloads with mirrors go on at their own URLs.
UPDATE task t SET host_key = m.url_host_key FROM task_mirror m WHERE m.task_id = t.id;
UPDATE delayed d SET host_key = m.url_host_key FROM task_mirror m WHERE m.task_id = d.task_id;
DROP TABLE task_mirror;
