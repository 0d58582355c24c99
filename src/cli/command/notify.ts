/** `jp notify test`: sends a test notification through each channel. */
import { warnWithheld } from "../../assemble/index.ts";
import { type ChannelSettings, resolveNotify } from "../../settings/config/index.ts";
import { openChannels, testChannels } from "../../surfaces/notify/index.ts";
import { JpError } from "../../util/index.ts";
import type { Call } from "../define.ts";
import { ExitStatus } from "../exit-status.ts";
import { trustedConfig } from "../trust.ts";
import type { NOTIFY } from "./options.ts";

type ChannelName = ChannelSettings["type"];

export async function testNotifications({ options, context }: Call<typeof NOTIFY>): Promise<void> {
  const { output, environment, cwd, clock } = context;
  const trusted = await trustedConfig(context, options);
  warnWithheld(trusted, context);
  const configured = resolveNotify(trusted.config)?.channels ?? [];
  const { channel: wanted = configured.map(({ type }) => type) } = options;
  const missing = wanted.filter((name) => !configured.some(({ type }) => type === name));
  if (configured.length === 0 || missing.length > 0) throw notConfigured(missing);
  // Opens all of them, so that a channel's command does not get the secrets of the others.
  const channels = openChannels(configured, { variables: environment.variables, cwd }).filter(
    ({ name }) => wanted.includes(name),
  );
  const interrupted = new AbortController();
  using _ = context.host.onSignal(["SIGINT", "SIGTERM"], () =>
    interrupted.abort(new Error("Interrupted.")),
  );
  const results = await testChannels(channels, { clock, signal: interrupted.signal });
  for (const { channel, problem } of results) {
    output.print(problem === undefined ? `${channel}: sent` : `${channel}: failed: ${problem}`);
  }
  if (results.some(({ problem }) => problem !== undefined)) throw new ExitStatus(1);
}

/** The first setting to configure for each channel. */
const FIRST_SETTINGS: Readonly<Record<ChannelName, string>> = {
  command: "notify.command.program /path/to/program",
  webhook: "notify.webhook.url https://hooks.example.org/jp",
};

function notConfigured(channels: readonly ChannelName[]): JpError<"notify_not_configured"> {
  const message =
    channels.length === 0
      ? "No notifications are configured."
      : `Not configured: ${channels.map((name) => `notify.${name}`).join(", ")}.`;
  const hint = `Start with: jp config set --in user ${FIRST_SETTINGS[channels[0] ?? "command"]}`;
  return new JpError("notify_not_configured", message, { hint });
}
