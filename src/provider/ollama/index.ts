export { ollamaModel } from "./ollama-model.ts";
