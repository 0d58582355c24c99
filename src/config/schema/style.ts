/** `style`, `editor`, `interrupt`: what a person sees and does. */
import * as v from "valibot";
import { atLeast, described, group, openGroup, table } from "./node.ts";

const progress = group({
  show: described("show that something is going on", v.boolean()),
  delay_secs: described("only after so long", atLeast(0)),
  interval_ms: described("how often it changes", atLeast(0)),
});

const duration = v.union([
  v.string(),
  atLeast(0),
  table(v.object({ secs: atLeast(0), nanos: atLeast(0) })),
]);

export const styleSchema = group({
  code: described("code blocks", openGroup({ color: v.boolean() })),
  markdown: described("rendered Markdown", openGroup({ wrap_width: atLeast(0) })),
  reasoning: group({
    display: described(
      "full, hidden, summary, static, progress, timer, or a number of characters",
      v.union([v.string(), atLeast(0), openGroup({})]),
    ),
    background: described("a background colour", v.union([v.number(), v.string()])),
    extend_across_tool_calls: described("keep it together across tool calls", v.boolean()),
  }),
  streaming: group({ progress }),
  tool_call: group({
    show: described("show tool calls", v.boolean()),
    progress,
    preparing: progress,
  }),
  typewriter: group({
    text_delay: described("pause between characters", duration),
    code_delay: described("pause between characters of code", duration),
    max_latency: described("never fall behind by more", duration),
  }),
  mcp_startup: progress,
  lock_wait: group({
    timeout_secs: described("how long to wait for a conversation that is in use", atLeast(0)),
  }),
  prompt: described(
    "how questions are asked: drawn, or plain for lines of text that can be read out",
    v.picklist(["drawn", "plain"]),
  ),
  notification: group({
    bell: described("ring the bell when a question waits", v.boolean()),
    desktop: described("ask the terminal for a notification when a question waits", v.boolean()),
  }),
});

export const editorSchema = group({
  cmd: described("the editor; else the first of the variables that is set", v.string()),
  envs: described("the environment variables that name it", v.array(v.string())),
  inline: openGroup({}),
});

const action = described("what Ctrl-C does: prompt, or one of its choices", v.string());

export const interruptSchema = group({
  escalation_cooldown_secs: described("a second Ctrl-C within so long ends the turn", atLeast(0)),
  streaming: group({ action }),
  tool_call: group({ action, compose_in_editor: v.union([v.boolean(), v.string()]) }),
});
