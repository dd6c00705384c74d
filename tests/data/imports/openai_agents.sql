-- What openai-agents 0.24.0 wrote: a run with a tool, an image, a step of reasoning, and a second session.
BEGIN TRANSACTION;
CREATE TABLE agent_messages (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                session_id TEXT NOT NULL,
                message_data TEXT NOT NULL,
                created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
                FOREIGN KEY (session_id) REFERENCES agent_sessions (session_id)
                    ON DELETE CASCADE
            );
INSERT INTO "agent_messages" VALUES(1,'user-7','{"content": "I moved to Lisbon. What is the weather?", "role": "user"}','2026-11-15 17:49:44');
INSERT INTO "agent_messages" VALUES(2,'user-7','{"arguments": "{\"city\":\"Lisbon\"}", "call_id": "call_1", "name": "weather", "type": "function_call", "id": "fc_1"}','2026-11-15 17:49:44');
INSERT INTO "agent_messages" VALUES(3,'user-7','{"call_id": "call_1", "output": "sunny in Lisbon", "type": "function_call_output"}','2026-11-15 17:49:44');
INSERT INTO "agent_messages" VALUES(4,'user-7','{"id": "msg_2", "content": [{"annotations": [], "text": "It is sunny in Lisbon.", "type": "output_text"}], "role": "assistant", "status": "completed", "type": "message"}','2026-11-15 17:49:44');
INSERT INTO "agent_messages" VALUES(5,'user-7','{"role": "user", "content": [{"type": "input_text", "text": "And this?"}, {"type": "input_image", "image_url": "https://example.org/cat.png", "detail": "auto"}]}','2026-11-15 17:49:44');
INSERT INTO "agent_messages" VALUES(6,'user-7','{"type": "reasoning", "id": "rs_1", "summary": []}','2026-11-15 17:49:44');
INSERT INTO "agent_messages" VALUES(7,'user-8','{"role": "user", "content": "Hello"}','2026-11-15 17:49:44');
INSERT INTO "agent_messages" VALUES(8,'user-8','{"role": "assistant", "content": "Hi Bob"}','2026-11-15 17:49:44');
CREATE TABLE agent_sessions (
                session_id TEXT PRIMARY KEY,
                created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
                updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
            );
INSERT INTO "agent_sessions" VALUES('user-7','2026-11-15 17:49:44','2026-11-15 17:49:44');
INSERT INTO "agent_sessions" VALUES('user-8','2026-11-15 17:49:44','2026-11-15 17:49:44');
CREATE INDEX idx_agent_messages_session_id
            ON agent_messages (session_id, id)
        ;
COMMIT;
