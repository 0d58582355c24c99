/** The default config. */
import { DEFAULT_SYSTEM_PROMPT } from "./default-system-prompt.ts";
import type { PartialConfig } from "./schema/config-schema.ts";

type ToolDefaults = NonNullable<
  NonNullable<NonNullable<PartialConfig["conversation"]>["tools"]>["*"]
>;

/** Defaults for a tool. */
export const TOOL_DEFAULTS = {
  enable: { state: true, allow_toggle: "any" },
  run: "ask",
  result: "unattended",
  cancellation_response:
    "The user rejected this tool call on purpose. Ask why, or infer it from the conversation, " +
    "before you try anything similar.",
  detached: { run: "deny", deliver: "auto", tool: "auto" },
  style: { hidden: false, header: true, inline_results: 10, parameters: "function_call" },
} as const satisfies ToolDefaults;

/** Defaults for an assistant, except its model. */
export const ASSISTANT_DEFAULTS = {
  name: "jp",
  system_prompt: { value: DEFAULT_SYSTEM_PROMPT, strategy: "replace" },
  tool_choice: "auto",
  request: {
    max_retries: 5,
    base_backoff_ms: 1000,
    max_backoff_secs: 60,
    stream_idle_timeout_secs: 60,
    prompt_timeout_secs: 600,
    max_response_bytes: 1_048_576,
    cache: true,
  },
} as const satisfies PartialConfig["assistant"];

export const LIMIT_DEFAULTS = {
  automatic_answers_per_call: 50,
  automatic_answers_per_turn: 500,
  record_bytes_per_call: 4_194_304,
} as const;

export const COMPACTION_DEFAULTS = {
  auto: {
    enabled: true,
    trigger_ratio: 0.75,
    rule: { keep_first: 1, keep_last: 3, reasoning: "strip", tool_calls: "strip" },
  },
} as const satisfies NonNullable<PartialConfig["conversation"]>["compaction"];

/** Without `editor` in the config, the first one that is set names the editor. */
export const EDITOR_VARIABLES = ["JP_EDITOR", "VISUAL", "EDITOR"];

export const NOTIFY_DEFAULTS = {
  content: "title",
  debounce_secs: 10,
  webhook: { secret_env: "JP_WEBHOOK_SECRET" },
} as const satisfies PartialConfig["notify"];

export const SHELL_DEFAULTS = {
  unsandboxed: "ask",
  env: [],
  hide_env: [],
  readable: [],
  keep_output_bytes: 10_000_000,
  limits: { processes: 4096, memory_bytes: 0, open_files: 65_536, time_secs: 3600 },
} as const;

export const DEFAULT_CURRENCY = "USD";

export const DEFAULTS: PartialConfig = {
  assistant: ASSISTANT_DEFAULTS,
  conversation: {
    title: { from_heading: true },
    tools: { "*": TOOL_DEFAULTS },
    inquiry: { schema: "stable" },
    limits: LIMIT_DEFAULTS,
    compaction: COMPACTION_DEFAULTS,
    surroundings: { folder: true, platform: true, date: true, git: true, agents_md: true },
    start_local: false,
    max_cycles: 50,
  },
  providers: {
    llm: {
      anthropic: {
        base_url: "https://api.anthropic.com",
        api_key_env: "ANTHROPIC_API_KEY",
        chain_on_max_tokens: true,
        beta_headers: [],
      },
      google: {
        base_url: "https://generativelanguage.googleapis.com/v1beta",
        api_key_env: "GEMINI_API_KEY",
      },
      openai: {
        base_url: "https://api.openai.com",
        api_key_env: "OPENAI_API_KEY",
        base_url_env: "OPENAI_BASE_URL",
      },
      openrouter: { base_url: "https://openrouter.ai", api_key_env: "OPENROUTER_API_KEY" },
      ollama: { base_url: "http://localhost:11434" },
      llamacpp: { base_url: "http://127.0.0.1:8080", api_key_env: "LLAMA_API_KEY" },
    },
  },
  editor: { envs: ["JP_EDITOR", "VISUAL", "EDITOR"] },
  interrupt: { escalation_cooldown_secs: 2 },
  style: {
    reasoning: { display: "timer" },
    tool_call: { show: true },
    lock_wait: { timeout_secs: 10 },
    notification: { bell: true, desktop: true },
  },
  notify: NOTIFY_DEFAULTS,
  usage: { currency: DEFAULT_CURRENCY },
  shell: { ...SHELL_DEFAULTS, env: [], hide_env: [], readable: [] },
  people: { owner_alone: false },
  undo: { keep: true },
};
