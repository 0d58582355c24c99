/** Yes or no, by one key. Capitals mean: and remember it for the rest of the turn. */
import { createPrompt, isEnterKey, useKeypress, usePrefix, useState } from "@inquirer/core";

export interface BooleanPromptConfig {
  readonly message: string;
  readonly default?: boolean;
  readonly canRemember: boolean;
}

export interface BooleanAnswer {
  readonly answer: boolean;
  readonly isRemembered: boolean;
}

const HELP = {
  y: "yes, this once",
  Y: "yes, and for the rest of the turn",
  n: "no, this once",
  N: "no, and for the rest of the turn",
  "?": "this help",
} as const;

export const booleanPrompt = createPrompt<BooleanAnswer, BooleanPromptConfig>((config, done) => {
  const [answer, setAnswer] = useState<BooleanAnswer | undefined>(undefined);
  const [hint, setHint] = useState<string | undefined>(undefined);
  const prefix = usePrefix({ status: answer === undefined ? "idle" : "done" });
  useKeypress((key, readline) => {
    readline.clearLine(0); // The key itself is not part of the line.
    const read = readKey(config, isEnterKey(key) ? "" : typed(key));
    if (read === undefined) setHint(helpText(config));
    else {
      setAnswer(read);
      done(read);
    }
  });
  if (answer !== undefined) return `${prefix} ${config.message} ${describe(answer)}`;
  return [`${prefix} ${config.message} [${keysOf(config).join(",")}]${suggestion(config)} `, hint];
});

function readKey(config: BooleanPromptConfig, key: string): BooleanAnswer | undefined {
  if (key === "" && config.default !== undefined) {
    return { answer: config.default, isRemembered: false };
  }
  if (!keysOf(config).includes(key) || key === "?") return undefined;
  return { answer: key.toLowerCase() === "y", isRemembered: key !== key.toLowerCase() };
}

/** Terminals tell a capital as its letter with shift. */
function typed(key: {
  readonly name?: string;
  readonly shift?: boolean;
  readonly sequence?: string;
}): string {
  if (key.sequence !== undefined && key.sequence.length === 1) return key.sequence;
  const name = key.name ?? "";
  return key.shift === true ? name.toUpperCase() : name;
}

function keysOf({ canRemember }: BooleanPromptConfig): readonly string[] {
  return canRemember ? ["y", "Y", "n", "N", "?"] : ["y", "n", "?"];
}

function helpText(config: BooleanPromptConfig): string {
  return keysOf(config)
    .map((key) => `  ${key}  ${HELP[key as keyof typeof HELP]}`) // The keys of HELP.
    .join("\n");
}

function suggestion({ default: suggested }: BooleanPromptConfig): string {
  return suggested === undefined ? "" : ` (${suggested ? "y" : "n"})`;
}

function describe({ answer, isRemembered }: BooleanAnswer): string {
  return `${answer ? "yes" : "no"}${isRemembered ? ", for the rest of the turn" : ""}`;
}
