/** The type of a program's `toolConfig`: made by test/support/tool-config-type.ts from the schema of the config. */
import type { Json } from "../../util/index.ts";

/** Settings for all tools, as `conversation.tools.'*'` in a config file. */
export interface SharedToolConfig {
  /** whether the tool is offered to the model, and whether -t and -T can change that */
  readonly enable?:
    | boolean
    | "on"
    | "off"
    | "always"
    | "explicit"
    | {
        readonly state?: boolean;
        readonly allow_toggle?: "any" | "if_named" | "if_named_or_group" | "never";
      };
  /** before a call runs: ask, unattended (run it), edit (the arguments first) or skip */
  readonly run?: "ask" | "unattended" | "edit" | "skip";
  /** before a result goes to the model: unattended (deliver it), ask, edit or skip */
  readonly result?: "ask" | "unattended" | "edit" | "skip";
  readonly policy?: {
    /** the same as run, or a list of rules on arguments, of which the first that matches decides */
    readonly run?: "ask" | "unattended" | "edit" | "skip" | readonly PolicyRuleConfig[];
    /** the same as result, or a list of rules on arguments */
    readonly result?: "ask" | "unattended" | "edit" | "skip" | readonly PolicyRuleConfig[];
  };
  /** who decides about calls, results and calls in doubt, and answers questions that have no target: user, { user = "NAME" }, { role = "NAME" } or { any = ["NAME", { role = "NAME" }] }; or a list of these, each with within = "2h", to be asked in order */
  readonly target?: "user" | readonly PeopleConfig[] | PeopleConfig;
  /** what to tell the model when you cancel a call */
  readonly cancellation_response?: string;
  /** what to do instead of prompting in a non-interactive run */
  readonly detached?:
    | "auto"
    | "defaults"
    | "deny"
    | "defer"
    | {
        readonly run?: "auto" | "defaults" | "deny" | "defer";
        readonly deliver?: "auto" | "defaults" | "deny" | "defer";
        readonly tool?: "auto" | "defaults" | "deny" | "defer";
      };
  /** maximum seconds per call, not counting time spent on prompts; 0 for no limit; 300 for MCP tools unless set */
  readonly timeout_secs?: number;
  readonly style?: {
    /** hide calls and results */
    readonly hidden?: boolean;
    /** whether to show a line for each call: on or off */
    readonly header?: boolean | "on" | "off";
    /** how much of a result to show: off, full or a number of lines; or a table with user and assistant, for what is addressed to each; for user, chat shows it as the assistant's own words */
    readonly inline_results?:
      | boolean
      | "off"
      | "full"
      | number
      | ShownLinesConfig
      | {
          readonly user?: "chat" | boolean | "off" | "full" | number | ShownLinesConfig;
          readonly assistant?: boolean | "off" | "full" | number | ShownLinesConfig;
        };
    /** how to show arguments: json, function_call or off; when jp asks for permission, it always shows them */
    readonly parameters?: "json" | "function_call" | "off";
    readonly error?: {
      /** the same, for errors */
      readonly inline_results?:
        | boolean
        | "off"
        | "full"
        | number
        | ShownLinesConfig
        | {
            readonly user?: "chat" | boolean | "off" | "full" | number | ShownLinesConfig;
            readonly assistant?: boolean | "off" | "full" | number | ShownLinesConfig;
          };
    };
  };
}

/** Settings for one tool, as `conversation.tools.<name>` in a config file. */
export interface ToolConfig extends Omit<SharedToolConfig, "enable"> {
  /** whether the tool is offered to the model, and whether -t and -T can change that; of a group also read, for those of its tools that only read */
  readonly enable?:
    | boolean
    | "on"
    | "off"
    | "always"
    | "explicit"
    | "read"
    | {
        readonly state?: boolean;
        readonly allow_toggle?: "any" | "if_named" | "if_named_or_group" | "never";
      };
  /** builtin[.name], local[.name] or mcp.<server>[.<tool>] */
  readonly source?: string;
  /** group of the tool, for -t and -T */
  readonly group?: string;
  /** the command a local tool runs */
  readonly command?:
    | string
    | {
        readonly program: string;
        readonly args?: readonly string[];
        readonly shell?: boolean;
      };
  /** one sentence about the tool, sent with every request */
  readonly summary?: string;
  /** more about the tool, sent when the model asks for it */
  readonly description?: string;
  /** examples, sent when the model asks for them */
  readonly examples?: string;
  /** parameters by name */
  readonly parameters?: Readonly<Record<string, ParameterKeywords>>;
  /** settings for the tool's questions, by id */
  readonly questions?: Readonly<Record<string, QuestionConfig>>;
  /** what the tool does: reads (changes nothing), edits (changes files of the workspace) or destroys (what cannot be had back) */
  readonly effect?: "reads" | "edits" | "destroys";
  /** safe to run twice: if jp stops during a call, it runs the call again without asking */
  readonly idempotent?: boolean;
  /** whether its calls run while other calls of the same reply do: true: they wait for none, and none waits for them; false: they run in order with those of all tools that say false, and with no others */
  readonly parallel?: boolean;
  /** a local tool can say what became of a call that jp stopped during: its command runs with the action check, and must change nothing then; false: a person decides, whatever the tool can find out */
  readonly check?: boolean;
  /** files of a local tool, relative to the workspace, that it writes itself: if one changes after you allowed a call, the call still runs */
  readonly subject_ignore?: readonly string[];
  /** values for a local tool, never shown to a model */
  readonly options?: Readonly<Record<string, Json>>;
}

/** Settings for one question of a tool. */
export interface QuestionConfig {
  /** who answers: user, assistant, the settings of an assistant, { user = "NAME" } for one person only, { role = "NAME" } for whoever has the role, { any = ["NAME", { role = "NAME" }] } for any of these, or ["assistant", "user"] to ask the user if the assistant says no; people in a list, each with within = "2h", are asked in order, and an assistant only if it is the last of it */
  readonly target?:
    | "user"
    | "assistant"
    | "assistant_with_escalation"
    | readonly ("user" | "assistant" | TargetConfig)[]
    | EscalatingTargetConfig;
  /** how long to wait for an answer, such as 30m or 2h */
  readonly deadline?: string;
  /** after the deadline: deny (the default), default (take the question's default), or escalate (ask the user instead of the assistant) */
  readonly on_timeout?: "deny" | "default" | "escalate";
  /** answer to use without asking; it must fit the question */
  readonly answer?: Json;
  /** true if no model may answer, false if one may; overrides the tool's own setting */
  readonly exclusive?: boolean;
  /** label shown with the question; changes only the display */
  readonly prompt_label?: string;
}

/** An assistant that answers, and perhaps a person after it. */
export interface EscalatingTargetConfig extends TargetConfig {
  /** ask the user if the assistant says no or cannot answer */
  readonly escalation?: boolean;
}

/** People who answer, or the settings of an assistant. */
export interface TargetConfig extends PeopleConfig {
  /** name of the assistant, shown while jp waits for it */
  readonly name?: string;
  /** the system prompt */
  readonly system_prompt?:
    | string
    | {
        readonly value: string;
        readonly strategy?: "append" | "prepend" | "replace";
        readonly separator?: Json;
        readonly discard_when_merged?: Json;
      };
  /** additional sections of the system prompt */
  readonly system_prompt_sections?:
    | readonly {
        readonly title?: string;
        readonly tag?: string;
        readonly content: string;
        readonly position?: number;
      }[]
    | {
        readonly value: readonly {
          readonly title?: string;
          readonly tag?: string;
          readonly content: string;
          readonly position?: number;
        }[];
        readonly strategy?: "append" | "prepend" | "replace";
        readonly separator?: Json;
        readonly discard_when_merged?: Json;
      };
  /** groups of instructions, added to the system prompt */
  readonly instructions?:
    | readonly {
        readonly title?: string;
        readonly description?: string;
        readonly position?: number;
        readonly items?: readonly string[];
        readonly examples?: readonly Json[];
      }[]
    | {
        readonly value: readonly {
          readonly title?: string;
          readonly description?: string;
          readonly position?: number;
          readonly items?: readonly string[];
          readonly examples?: readonly Json[];
        }[];
        readonly strategy?: "append" | "prepend" | "replace";
        readonly separator?: Json;
        readonly discard_when_merged?: Json;
      };
  /** auto, none, required, or the name of a tool */
  readonly tool_choice?: string;
  readonly model?: {
    /** provider/name, or an alias */
    readonly id?:
      | string
      | {
          readonly provider: string;
          readonly name: string;
        };
    /** model parameters; unknown ones are passed through to the provider */
    readonly parameters?: {
      /** maximum number of tokens per reply */
      readonly max_tokens?: number;
      /** how much to reason: off, auto, an effort, or {effort, exclude} */
      readonly reasoning?:
        | boolean
        | "off"
        | "auto"
        | "none"
        | "minimal"
        | "low"
        | "medium"
        | "high"
        | "xhigh"
        | "max"
        | {
            readonly effort?: string | number;
            readonly exclude?: boolean;
          };
      /** sampling temperature */
      readonly temperature?: number;
      /** nucleus sampling: sample only from the most likely tokens, up to this probability */
      readonly top_p?: number;
      /** sample only from this many of the most likely tokens */
      readonly top_k?: number;
      /** stop sequences: the reply ends before any of these */
      readonly stop_words?: readonly string[];
      /** other parameters, passed through to the provider */
      readonly other?: Readonly<Record<string, Json>>;
      readonly [other: string]: unknown;
    };
  };
  readonly request?: {
    /** maximum number of retries after a failed request */
    readonly max_retries?: number;
    /** milliseconds to wait before the first retry */
    readonly base_backoff_ms?: number;
    /** maximum seconds to wait before a retry */
    readonly max_backoff_secs?: number;
    /** give up on a stream after this many seconds of silence; 0 for never */
    readonly stream_idle_timeout_secs?: number;
    /** give up if no part of the reply arrives for this many seconds while a local model reads the prompt, or while a server only sends keep-alives; 0 for never */
    readonly prompt_timeout_secs?: number;
    /** maximum size of a reply in bytes; 0 for no limit */
    readonly max_response_bytes?: number;
    /** prompt caching: true or short, long, false or off, or a duration */
    readonly cache?: boolean | string;
  };
}

/** People who decide. */
export interface PeopleConfig {
  /** the name of the only person who may decide */
  readonly user?: string;
  /** a role: whoever has it may decide */
  readonly role?: string;
  /** several, of whom any may decide: names, and { role = "NAME" } */
  readonly any?: readonly (
    | string
    | {
        readonly user?: string;
        readonly role?: string;
      }
  )[];
  /** how many different people have to say the same */
  readonly quorum?: number;
  /** with a quorum: whether one no ends it, or it counts like a yes */
  readonly refusal?: "ends" | "counts";
  /** asker: whoever started the turn may not decide */
  readonly not_by?: "asker";
  /** signed: whoever decides has to sign it */
  readonly proof?: "signed";
  /** how long they have, such as 2h; then the next of the list is asked, or it ends without a decision */
  readonly within?: string;
}

/** A rule on the arguments of a call. */
export interface PolicyRuleConfig {
  readonly mode: "ask" | "unattended" | "edit" | "skip";
  readonly arg?: string;
  readonly tool?: string;
  readonly server?: string;
  readonly questions?: readonly string[];
  readonly target?: "user" | readonly PeopleConfig[] | PeopleConfig;
  readonly const?: Json;
  readonly enum?: readonly Json[];
  readonly pattern?: string;
  readonly prefix?: string;
  readonly glob?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusive_minimum?: number;
  readonly exclusive_maximum?: number;
}

/** How much of a result to show. */
export interface ShownLinesConfig {
  readonly truncate: {
    readonly lines: number;
  };
}

/** A parameter, in the words of JSON Schema. */
export interface ParameterKeywords {
  readonly type?: string | readonly string[];
  readonly default?: Json;
  readonly required?: boolean;
  readonly summary?: string;
  readonly description?: string;
  readonly examples?: Json;
  readonly enum?: readonly Json[];
  readonly items?: ParameterKeywords;
  readonly properties?: Readonly<Record<string, ParameterKeywords>>;
  readonly [other: string]: unknown;
}
