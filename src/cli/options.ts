/** How options are declared, the flags a command gets from them, and the options that several commands share. */
import { InvalidArgumentError } from "commander";
import type { ToolDirective } from "../settings/config/index.ts";

/**
 * Options by their flags, as the help shows them: `-n, --limit <count>`. The value is the description, or all that
 * commander needs to know. In `as const`, so that `FlagsOf` sees all of it.
 */
export type Options = Readonly<Record<string, string | OptionDetails>>;

export interface OptionDetails {
  readonly description: string;
  /** The allowed values. */
  readonly choices?: readonly string[];
  /** May throw `InvalidArgumentError`. */
  readonly parse?: (text: string) => unknown;
  readonly default?: unknown;
  /** The flag is a list of all values given. If the value is optional, `true` stands for none. */
  readonly isRepeatable?: true;
  readonly isRequired?: true;
  readonly isHidden?: true;
  /** Names of flags. */
  readonly conflicts?: readonly string[];
}

/** The flags of a command by their names: `nonInteractive` for `--non-interactive`. */
export type FlagsOf<All extends Options> = {
  readonly [
    Flags in keyof All as IsAlwaysSet<Flags, All> extends true ? NameOf<Flags> : never
  ]: ValueOf<Flags, All>;
} & {
  readonly [
    Flags in keyof All as IsAlwaysSet<Flags, All> extends true ? never : NameOf<Flags>
  ]?: ValueOf<Flags, All>;
};

type ValueOf<Flags, All extends Options> = Flags extends keyof All
  ? All[Flags] extends { readonly isRepeatable: true }
    ? readonly OneOf<Flags, All[Flags]>[]
    : OneOf<Flags, All[Flags]> | (IsNegated<Flags> extends true ? NegatedValue<Flags, All> : never)
  : never;

/** One value of an option. */
type OneOf<Flags, Details> = Details extends { readonly parse: (text: never) => infer Value }
  ? Value | (Details extends { readonly isRepeatable: true } ? never : ValueOfNone<Flags>)
  : Flags extends `${string} <${string}>` | `${string} [${string}]`
    ? ChoiceOf<Details> | ValueOfNone<Flags>
    : IsNegated<Flags> extends true
      ? never
      : boolean;

type ChoiceOf<Details> = Details extends { readonly choices: readonly (infer Choice)[] }
  ? Choice
  : string;

type ValueOfNone<Flags> = Flags extends `${string} [${string}]` ? true : never;

type NegatedValue<Flags, All> = NameOf<Flags> extends PositiveNames<All> ? false : boolean;

/** Has a default, must be given, or is the only one of `--no-x` and `--x`, which is then true by default. */
type IsAlwaysSet<Flags, All> = Flags extends keyof All
  ? All[Flags] extends { readonly default: unknown } | { readonly isRequired: true }
    ? true
    : IsNegated<Flags> extends true
      ? NegatedValue<Flags, All> extends false
        ? false
        : true
      : false
  : never;

type PositiveNames<All> = {
  [Flags in keyof All]: IsNegated<Flags> extends true ? never : NameOf<Flags>;
}[keyof All];

type IsNegated<Flags> = LongOf<Flags> extends `no-${string}` ? true : false;

type NameOf<Flags> =
  LongOf<Flags> extends `no-${infer Word}` ? CamelCase<Word> : CamelCase<LongOf<Flags>>;

type LongOf<Flags> = Flags extends `${string}--${infer Rest}`
  ? Rest extends `${infer Word} ${string}`
    ? Word
    : Rest
  : never;

type CamelCase<Words> = Words extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Words;

/** For every command. */
export const GLOBAL_OPTIONS = {
  "-w, --workspace <path>": "Use the workspace at or above this path",
  "--store <address>": "Where conversations are kept: files, or postgres://…",
  "--width <columns>": { description: "Wrap and truncate lines at this width", parse: parseWidth },
} as const satisfies Options;

export type GlobalFlags = FlagsOf<typeof GLOBAL_OPTIONS>;

/** For every command that uses the config. */
export const CONFIG_OPTIONS = {
  "-c, --cfg <setting>": {
    description: "Override the config: key=value, key:=JSON, @file or a JSON object; repeatable",
    isRepeatable: true,
  },
} as const satisfies Options;

/** Both give the flag `tool`, in the order of the command line. */
export const TOOL_OPTIONS = {
  "-t, --tool [name]": {
    description: "Enable a tool or group (default: all that can be toggled)",
    parse: (name: string | true) => toolDirective(name, true),
    isRepeatable: true,
  },
  "-T, --no-tool [name]": {
    description: "Disable a tool or group (default: all that can be toggled)",
    parse: (name: string | true) => toolDirective(name, false),
    isRepeatable: true,
  },
} as const satisfies Options;

function toolDirective(name: string | true, isEnabled: boolean): ToolDirective {
  return name === true ? { isEnabled } : { isEnabled, name };
}

/** `conversation.mode`, for one command. */
export const MODE_OPTIONS = {
  "--mode <mode>": {
    description: "What runs without asking",
    choices: ["ask", "edits", "plan", "sandbox"],
  },
} as const satisfies Options;

export const FORMAT_OPTIONS = formatOptions("text", "json");

/** The first format is the default. */
export function formatOptions<const First extends string, const Other extends string>(
  first: First,
  ...others: readonly Other[]
) {
  return {
    "-F, --format <format>": {
      description: "Output format",
      choices: [first, ...others],
      default: first,
    },
  } as const;
}

/** For commands that work on some turns of a conversation. */
export const TURN_OPTIONS = {
  "--first <count>": { description: "Only the first <count> turns", parse: parseCount },
  "--last <count>": { description: "Only the last <count> turns", parse: parseCount },
  "--turn <range>": "Only these turns: 3, 2..5, 4.. or ..2",
} as const satisfies Options;

/** Alone for the configured rules, or with a rule. */
export const COMPACT_OPTIONS = {
  "-k, --compact [rule]": {
    description: "Compact old turns by the configured rules, or by this one; repeatable",
    isRepeatable: true,
  },
} as const satisfies Options;

/** The user's config files that a command can change. */
export const CONFIG_PLACES = ["workspace", "local", "user"] as const;

export function parseCount(text: string): number {
  return parseWhole(text, { min: 0, expected: "a whole number" });
}

const MAX_PORT = 65_535;

export function parsePort(text: string): number {
  return parseWhole(text, { min: 0, max: MAX_PORT, expected: `a whole number up to ${MAX_PORT}` });
}

function parseWidth(text: string): number {
  return parseWhole(text, { min: 20, expected: "a whole number of columns, 20 or more" });
}

interface WholeNumber {
  readonly min: number;
  readonly max?: number;
  /** In the user's terms. */
  readonly expected: string;
}

/** Both bounds are inclusive. Throws `InvalidArgumentError`. */
export function parseWhole(
  text: string,
  { min, max = Number.POSITIVE_INFINITY, expected }: WholeNumber,
): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new InvalidArgumentError(`Expected ${expected}.`);
}
