/** The status line of a command outside of a turn. */
import type { PartialConfig } from "../settings/config/index.ts";
import { createStatusLine, type StatusLine } from "../surfaces/terminal/index.ts";
import type { CommandContext } from "./context.ts";
import { wantsPlainText } from "./host.ts";

/** Shows on the status line what a command waits for. */
export function showProgress(
  context: Pick<CommandContext, "host" | "clock">,
): (text: string | undefined, config: PartialConfig) => void {
  const { host, clock } = context;
  const now = () => clock.now().getTime();
  let status: StatusLine | undefined;
  return (text, config) => {
    const isPlain = wantsPlainText(host, config);
    status ??= createStatusLine({ stream: host.notices, isPlain, now });
    status.set(text);
  };
}
