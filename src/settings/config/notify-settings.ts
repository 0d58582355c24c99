/** Resolves where notifications go, and how much they say. */
import { JpError } from "../../util/index.ts";
import { NOTIFY_DEFAULTS } from "./defaults.ts";
import type { PartialConfig } from "./schema/config-schema.ts";

/** The settings in force for notifications. */
export interface NotifySettings {
  /** How much a notification says; each level adds to the one before it. */
  readonly content: "none" | "title" | "question";
  /** How long questions are collected for one notification. */
  readonly debounceMs: number;
  /** The address of the desk in links, without a slash at the end. */
  readonly link?: string;
  /** At least one. */
  readonly channels: readonly ChannelSettings[];
}

/** One way to notify. Secrets are in environment variables, never in the config. */
export type ChannelSettings = CommandChannel | WebhookChannel;

/** Runs a program, without a shell. */
export interface CommandChannel {
  readonly type: "command";
  readonly program: string;
  readonly args: readonly string[];
}

/** Posts signed JSON. */
export interface WebhookChannel {
  readonly type: "webhook";
  readonly url: string;
  readonly secretVariable: string;
}

/** Undefined if no channel is configured. Throws `notify_incomplete` and `notify_email_removed`. */
export function resolveNotify({ notify = {} }: PartialConfig): NotifySettings | undefined {
  if (notify.email !== undefined) throw emailRemoved();
  const channels = [commandOf(notify), webhookOf(notify)].filter(
    (channel) => channel !== undefined,
  );
  if (channels.length === 0) return undefined;
  const { content, debounce_secs: seconds, link } = notify;
  return {
    content: content ?? NOTIFY_DEFAULTS.content,
    debounceMs: (seconds ?? NOTIFY_DEFAULTS.debounce_secs) * 1000,
    ...(link !== undefined && { link: link.replace(/[?#].*/, "").replace(/\/+$/, "") }),
    channels,
  };
}

type Notify = NonNullable<PartialConfig["notify"]>;

function commandOf({ command = {} }: Notify): CommandChannel | undefined {
  const { program, args = [] } = command;
  if (program !== undefined) return { type: "command", program, args };
  if (args.length > 0) throw incomplete("command", ["program"]);
  return undefined;
}

function webhookOf({ webhook = {} }: Notify): WebhookChannel | undefined {
  const { url, secret_env: secretVariable = NOTIFY_DEFAULTS.webhook.secret_env } = webhook;
  return url === undefined ? undefined : { type: "webhook", url, secretVariable };
}

function incomplete(channel: string, keys: readonly string[]): JpError<"notify_incomplete"> {
  const names = keys.map((key) => `notify.${channel}.${key}`).join(", ");
  const hint = "See docs/notifications.md.";
  return new JpError("notify_incomplete", `The config is incomplete: set ${names}.`, { hint });
}

/** Whoever relies on e-mails would miss questions without noticing. */
function emailRemoved(): JpError<"notify_email_removed"> {
  const message = "The config has notify.email, and jp no longer sends e-mails itself.";
  const hint = "To send them with notify.command: docs/notifications.md#send-an-e-mail";
  return new JpError("notify_email_removed", message, { hint });
}
