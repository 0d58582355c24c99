// Preload this into a program to make it treat its output as a terminal.
Object.assign(process.stdout, { isTTY: true, columns: 80, getColorDepth: () => 8 });
