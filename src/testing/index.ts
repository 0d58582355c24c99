export { MemoryConversationStore } from "../storage/index.ts";
export { FakeClock } from "./fake-clock.ts";
