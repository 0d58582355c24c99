export { openChannels } from "./channels.ts";
export { announceOnce, createNotifier, type NotifierOptions, testChannels } from "./notifier.ts";
