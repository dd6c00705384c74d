-- What mem0ai 2.2.1 wrote as history.db: three memories, one changed, one deleted, and the messages of a session.
BEGIN TRANSACTION;
CREATE TABLE history (
                        id           TEXT PRIMARY KEY,
                        memory_id    TEXT,
                        old_memory   TEXT,
                        new_memory   TEXT,
                        event        TEXT,
                        created_at   DATETIME,
                        updated_at   DATETIME,
                        is_deleted   INTEGER,
                        actor_id     TEXT,
                        role         TEXT
                    );
INSERT INTO "history" VALUES('2a4c67fe-1245-4975-8d66-a000a45e79bd','39804987-9202-49d2-9669-7094d00a3d13',NULL,'Likes green tea','ADD','2026-11-15T17:48:20.460706+00:00','2026-11-15T17:48:20.460706+00:00',0,NULL,'user');
INSERT INTO "history" VALUES('0da2c65e-ce34-4858-9279-e393f4263cde','77818054-08ac-4f40-9d60-b9549b7bf397',NULL,'I live in Lisbon','ADD','2026-11-15T17:48:20.469515+00:00','2026-11-15T17:48:20.469515+00:00',0,NULL,'user');
INSERT INTO "history" VALUES('dfd77406-87e8-44e2-9801-37c51ba1e09d','3c5965f4-e57e-4223-9b65-e5c4e9bd1145',NULL,'Lovely city','ADD','2026-11-15T17:48:20.472091+00:00','2026-11-15T17:48:20.472091+00:00',0,NULL,'assistant');
INSERT INTO "history" VALUES('e03944a8-dd98-45cd-b238-40652b67dc2a','18f15ba5-fe57-47dc-8202-6429ad0f306d',NULL,'Bob plays chess','ADD','2026-11-15T17:48:20.474536+00:00','2026-11-15T17:48:20.474536+00:00',0,NULL,'user');
INSERT INTO "history" VALUES('38821ced-f37f-443b-94af-3d1ee576ad26','39804987-9202-49d2-9669-7094d00a3d13','Likes green tea','Likes green tea, not coffee','UPDATE','2026-11-15T17:48:20.460706+00:00','2026-11-15T17:48:20.477959+00:00',0,NULL,'user');
INSERT INTO "history" VALUES('6e9c7cfe-1204-4cf8-8287-8df251e35511','18f15ba5-fe57-47dc-8202-6429ad0f306d','Bob plays chess',NULL,'DELETE','2026-11-15T17:48:20.474536+00:00','2026-11-15T17:48:20.483576+00:00',1,NULL,'user');
CREATE TABLE messages (
                        id TEXT PRIMARY KEY,
                        session_scope TEXT,
                        role TEXT,
                        content TEXT,
                        name TEXT,
                        created_at DATETIME
                    );
INSERT INTO "messages" VALUES('33047a4d-3943-43c0-8a78-af7f21a89bb3','agent_id=helper&run_id=run-1&user_id=ana','user','I live in Lisbon',NULL,'2026-11-15T17:48:20.489999+00:00');
INSERT INTO "messages" VALUES('3c434f24-5bb4-4025-86ea-531ce67d7ad4','agent_id=helper&run_id=run-1&user_id=ana','assistant','Lovely city',NULL,'2026-11-15T17:48:20.489999+00:00');
COMMIT;
