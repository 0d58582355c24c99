// Loads the library, and does nothing with it.
await import("jp-ts");
