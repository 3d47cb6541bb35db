-- Downloads that are at a mirror stay in the queue of its host, and ask their own URLs.
DROP TABLE task_mirror;
