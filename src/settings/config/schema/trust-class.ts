/**
 * How far a workspace's own files may set a key before the user has trusted them. Every key, or the table that it is in,
 * declares one of these; `settings/trust/trust-rules.ts` has the rule of each.
 */
export type TrustClass =
  /** Runs, connects to and allows nothing. */
  | "harmless"
  /** Runs or connects to something, or decides where something goes: needs trust whatever the value. */
  | "always"
  /** Only the user's own config may set it: trust is not enough. */
  | "own"
  /** The same for a mode, except `plan`, which only restricts. */
  | "own_mode"
  // Need trust if they allow more than the user's own value.
  | "higher"
  /** A number, with 0 for no limit. */
  | "further"
  /** A list, with more items. */
  | "more"
  | "turned_on"
  | "turned_off"
  // Judged by their meaning.
  /** Where the next message goes. */
  | "default_conversation"
  /** The address of a provider. */
  | "address"
  /** Set on a model that may answer questions of the user's tools. */
  | "answers"
  /** The meaning of a model's short name. */
  | "alias"
  /** The name under which the user answers. */
  | "person"
  /** The action of Ctrl-C. */
  | "keeps_going"
  // Judged one by one, as claims of their own.
  | "inherit"
  | "attachments"
  /** Parameters of a model: unknown ones are passed through to its provider. */
  | "passthrough"
  // Of a tool, and judged against the user's own settings for it.
  /** Makes it another tool, which needs trust with everything that is not harmless in a new tool. */
  | "tool"
  | "prompt"
  | "format"
  | "rules"
  | "effect"
  | "detached"
  | "questions"
  /** The people who decide. */
  | "deciders"
  /** Differs from the user's own value. */
  | "changed"
  // Harmless in a tool that the workspace brings, because trust in the tool includes it.
  | "enable"
  | "group"
  | "call_time"
  | "hidden"
  | "header"
  | "chat"
  /** How arguments are shown: by a command, which needs trust in any tool. */
  | "formatter";
