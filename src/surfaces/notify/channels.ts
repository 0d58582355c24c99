/** The ways to send a notification: run a command, or post to a webhook. */
import type {
  ChannelSettings,
  CommandChannel,
  WebhookChannel,
} from "../../settings/config/index.ts";
import { type ProcessLimits, resolveProgramOnce, runProcess } from "../../reach/process/index.ts";
import { assertNever, loadModule, messageOf, systemErrorCode } from "../../util/index.ts";
import type { Notification } from "./message.ts";

/** A way to send notifications. */
export interface Channel {
  readonly name: ChannelSettings["type"];
  /** Loads its modules, if they are lazy. Throws `module_not_loaded`. */
  readonly load?: () => Promise<unknown>;
  /** Throws on failure: a `PermanentError` if a retry is pointless, and the signal's reason. */
  readonly send: (message: Notification, signal: AbortSignal) => Promise<void>;
}

/** The environment that channels need. */
export interface ChannelMachine {
  /** The environment variables, with the secrets that the settings name. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** The working directory of commands. */
  readonly cwd: string;
}

/** A failure that a retry would repeat. */
export class PermanentError extends Error {}

/** Opens no connection, and does not load the signer, before a channel loads or sends. */
export function openChannels(
  settings: readonly ChannelSettings[],
  machine: ChannelMachine,
): readonly Channel[] {
  const secrets = new Set(
    settings.map((channel) => (channel.type === "webhook" ? channel.secretVariable : undefined)),
  );
  const harmless = Object.entries(machine.variables).filter(([name]) => !secrets.has(name));
  return settings.map((channel) => {
    switch (channel.type) {
      case "command":
        return openCommand(channel, { ...machine, variables: Object.fromEntries(harmless) });
      case "webhook":
        return openWebhook(channel, machine);
      default:
        return assertNever(channel);
    }
  });
}

function readSecret(name: string, { variables }: ChannelMachine): string {
  const secret = variables[name] ?? "";
  if (secret === "") throw new PermanentError(`The environment variable ${name} is not set.`);
  return secret;
}

const COMMAND_LIMITS: ProcessLimits = {
  stdoutBytes: 1024,
  stderrBytes: 1024,
  killGraceMs: 2000,
  pipeGraceMs: 250,
};

/** The program gets the JSON on standard input and the rest in its environment, nothing in its arguments. */
function openCommand({ program, args }: CommandChannel, machine: ChannelMachine): Channel {
  const send: Channel["send"] = async (message, signal) => {
    const { cwd, variables } = machine;
    const file = resolveProgramOnce(program, { cwd, searchPath: variables["PATH"] });
    const end = await runProcess({
      program: file ?? program,
      args,
      cwd,
      variables: {
        ...variables,
        JP_NOTIFY_TITLE: message.title,
        JP_NOTIFY_TEXT: message.text,
        JP_NOTIFY_LINK: message.link ?? "",
      },
      input: `${JSON.stringify(message.json)}\n`,
      signal,
      limits: COMMAND_LIMITS,
    });
    signal.throwIfAborted();
    if (end.type === "not_started") {
      const reason = systemErrorCode(end.error) ?? messageOf(end.error);
      throw new PermanentError(`Cannot run ${program}: ${reason}.`);
    }
    if (end.type !== "exited") return;
    const { exit, stderr } = end;
    if ("status" in exit && exit.status === 0) return;
    const how = "signal" in exit ? `was ended by ${exit.signal}` : `exited with ${exit.status}`;
    const [reason = ""] = stderr.text.trim().split("\n");
    throw new Error(`${program} ${how}${reason === "" ? "." : `: ${reason}`}`);
  };
  return { name: "command", send };
}

/** Signed per https://www.standardwebhooks.com, and never redirected: the signature is for one receiver. */
function openWebhook({ url, secretVariable }: WebhookChannel, machine: ChannelMachine): Channel {
  const { host } = new URL(url);
  const send: Channel["send"] = async (message, signal) => {
    const key = webhookKey(readSecret(secretVariable, machine), secretVariable);
    const body = JSON.stringify(message.json);
    const { Webhook } = await loadSigner();
    const now = new Date(); // The receiver compares it with its own clock.
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "user-agent": "jp",
        "webhook-id": message.id,
        "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
        "webhook-signature": new Webhook(key, { format: "raw" }).sign(message.id, now, body),
      },
      body,
      redirect: "manual",
      signal,
    }).catch((error: unknown) => {
      signal.throwIfAborted();
      const cause = error instanceof Error ? error.cause : undefined;
      const reason = systemErrorCode(cause) ?? messageOf(cause ?? error);
      throw new Error(`Cannot reach ${host}: ${reason}.`);
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`${host} answered with status ${response.status}.`);
  };
  return { name: "webhook", load: loadSigner, send };
}

function loadSigner() {
  return loadModule(() => import("standardwebhooks"));
}

/** The length that the specification recommends. */
const KEY_BYTES = { min: 24, max: 64 };

function webhookKey(secret: string, variable: string): Buffer {
  const text = secret.replace(/^whsec_/, "");
  const key = Buffer.from(text, "base64");
  const isBase64 = key.toString("base64").replace(/=+$/, "") === text.replace(/=+$/, "");
  if (isBase64 && key.length >= KEY_BYTES.min && key.length <= KEY_BYTES.max) return key;
  throw new PermanentError(
    `${variable} is not a webhook secret: expected whsec_ and ${KEY_BYTES.min} to ${KEY_BYTES.max} bytes in Base64.`,
  );
}
