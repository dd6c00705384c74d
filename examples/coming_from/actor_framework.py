"""Coming from a Python actor framework: theirs as a comment, ours in the line below it."""

# For agents that carry a memory of a type of their own, or a `ReactMemory` of messages, tool calls, thoughts and to-dos, as in
# Aitor. There the memory is an object in the process that you export and import; here it is in the file as soon as it
# changes, and many processes share it.

import json
from dataclasses import dataclass, field

from rememo import Memory, Working

memory = Memory("agents.db")

# ---- A memory of any type


@dataclass
class UserSession:
    user: str = ""
    log: list[str] = field(default_factory=list)


# agent: Aitor[UserSession] = Aitor(initial_memory=UserSession("user123"), name="SessionAgent")
session = memory.scope(agent="SessionAgent").typed("session", UserSession("user123"))
# current = agent.get_memory(); current.log.append("new"); agent.set_memory(current)
session.update(lambda current: UserSession(current.user, [*current.log, "new"]))  # nothing comes in between
# agent.get_memory()
print(session.get())
# agent: Aitor[List[str]] = Aitor(initial_memory=[], name="ListAgent")
names = memory.typed("names", [], type=list[str])
# (not offered)
session.undo()

# ---- ReactMemory

agent = memory.scope(agent="react", room="talk-1")
react = agent.working

# memory.add_message("user", "Hello, how are you?")
react.messages.add("user", "Hello, how are you?")
# memory.get_messages(), memory.get_messages_by_role("user")
print(react.messages.history(None), react.messages.history(None, roles="user"))  # without None, the latest 20
# memory.add_tool_execution(ToolExecution(tool_name="calculator", params=…, result=ToolResult(…), timestamp=…))
with react.tool("calculator", {"expression": "6 * 7"}) as call:
    call.result = 42  # time, success and errors are noted by themselves
# len(successful) / len(executions)
print(react.actions.success_rate("calculator"))
# memory.reasoning_trace.append(ReasoningStep(step_type="THINK", content=…))
react.think("The answer is 42.", step="THINK")
print(react.thoughts.latest(10))
# memory.context["carrier"] = "CTT"
react.context.set("carrier", "CTT")
# memory.todos.append(Todo(…))
react.todos.add("Answer the question", priority=5)
print(react.todos.next().text)

# ---- Sessions, pruning, figures

# data = agent.export_memory(); json.dump(data, file, default=str)
data = json.loads(json.dumps(react.export()))
# new_agent.import_memory(data)
memory.scope(agent="restored", room="talk-1").working.import_(data)
# session_manager.save_session(agent, "user123_session1")
agent.sessions.save("user123_session1")
# session_manager.load_session(agent, "user123_session1")
agent.sessions.load("user123_session1")
# session_manager.list_sessions()
print([one.name for one in agent.sessions.list()])
# ManagedReactAgent(max_messages=100, max_tool_executions=50).prune_memory()
pruned = react.prune(max_messages=100, max_actions=50, max_thoughts=200)
# analyze_memory_usage(agent)
stats = react.stats()
print(stats.messages.by_role, stats.actions.success_rate, stats.thoughts.by_step, stats.bytes.total)
# agent.add_memory_hook(log_memory_changes)
agent.hooks.on_change(lambda change: print(change.outcome, change.kind))

# ---- A memory type of your own


# @dataclass class CustomerSupportMemory: …; class CustomerSupportAgent(ReactAgent): …
class SupportCase(Working):
    ticket: str = ""
    level: int = 1
    notes: list[str] = []

    # def escalate(self, reason)
    def escalate(self, reason: str) -> None:
        level = self.change("level", lambda level: level + 1)
        self.notes = [*self.notes, f"level {level}: {reason}"]


# agent.start_support_session(customer_id, issue_category)
case = SupportCase(memory.scope(user="alice", room="case-7"))
case.ticket = "T-7"
case.messages.add("user", "My parcel is late.")
case.escalate("no answer for a week")
# agent.get_support_status()
print(case.ticket, case.level, case.notes)
memory.close()

# `examples/support_case.py` is such an agent, as a program.
