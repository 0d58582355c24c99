/** The threats that jp is built against, and the one way in which a test says that it shows one of them. */

export interface Threat {
  readonly id: string;
  /** Who does what. */
  readonly threat: string;
  readonly holds: string;
}

export interface Area {
  readonly title: string;
  readonly threats: readonly Threat[];
}

const provenance: Area = {
  title: "Who asked, and who answered",
  threats: [
    {
      id: "T-PROV-1",
      threat: "A config says who asks or who has answered, or gives a tool the label of another.",
      holds:
        "Who asks follows from the code that asked. A label is seen, and recorded nowhere. The author of a message is " +
        "a name from the config, and proves nothing.",
    },
    {
      id: "T-PROV-2",
      threat:
        "A tool prints a source, an `answered_by`, ids, or whole events of a record, with its question or in its result.",
      holds: "Nothing but the question itself is read from it. A result is a text.",
    },
    {
      id: "T-PROV-3",
      threat: "An MCP server says such things in `_meta` or beside its form.",
      holds: "What a server asks is asked by the tool that was called, by its name in the config.",
    },
    {
      id: "T-PROV-4",
      threat: "Somebody edits a record by hand.",
      holds:
        "The record is not signed: whoever may write the file can write any answer. It is told as it stands: an answer " +
        "without a question is not listed, a second one does not count, and where nobody is named nobody is told.",
    },
    {
      id: "T-PROV-5",
      threat: "A model says in its text or arguments what a person has answered.",
      holds: "Text is text. Only a prompter, the config or the inquiry model gives answers.",
    },
    {
      id: "T-PROV-6",
      threat: "A tool draws a prompt of its own, to catch a key or a password.",
      holds:
        "Tools and servers run in sessions of their own, in which `/dev/tty` does not open, and have no keyboard. What " +
        "they write is shown as theirs. A program that looks for the device of the terminal by its path finds it.",
    },
    {
      id: "T-PROV-7",
      threat: "Keys that were pressed before a question was there answer it.",
      holds: "What was typed before is thrown away.",
    },
    {
      id: "T-PROV-8",
      threat:
        "jp is ended while something is being asked: by SIGTERM or SIGHUP, a closed terminal, a client that leaves, or " +
        "the program around it. The record says that the user rejected it.",
      holds:
        "The reason is `interrupted`, no decision is recorded, and the model is told how far the call came. Only what a " +
        "person did at a prompt or in the menu is put down to the user.",
    },
  ],
};

const terminal: Area = {
  title: "The terminal",
  threats: [
    {
      id: "T-TERM-1",
      threat:
        "A config has escape sequences in names, texts, commands, unknown keys or wrong values.",
      holds: "Every text that is not ours is made harmless where it is written to the terminal.",
    },
    {
      id: "T-TERM-2",
      threat: "So have paths, variables and words of the command line.",
      holds: "The same.",
    },
    {
      id: "T-TERM-3",
      threat:
        "So has what a model, a tool or a provider's error says: texts, reasoning, arguments, questions, options, " +
        "progress, results; in both forms of C1, and of any length.",
      holds: "The same. What is longer than the screen says so, and can be read whole.",
    },
    {
      id: "T-TERM-4",
      threat:
        "So has what an MCP server says of itself, its tools and its forms, or writes when it fails.",
      holds: "The same.",
    },
    {
      id: "T-TERM-5",
      threat: "So has a record: titles, ids, authors, kinds that nobody knows, damaged files.",
      holds: "The same, also in JSON and in a pipe where a person reads.",
    },
    {
      id: "T-TERM-6",
      threat: "So has an error that nobody expected.",
      holds: "It is told like any other, without a stack unless `JP_DEBUG=1`.",
    },
    {
      id: "T-TERM-7",
      threat:
        "A question, its context, an option, the arguments of a call or a result is longer than the screen, so that " +
        "a person answers having seen only a harmless part of it.",
      holds:
        "It is shown from its beginning, with the number of lines that follow. No key answers before the end was on " +
        "the screen, or was skipped to with a key that does only that, also when the screen changes its size. In " +
        "plain mode everything is printed.",
    },
    {
      id: "T-TERM-8",
      threat:
        "A text has characters that no font draws: fillers that pass for spaces, variation selectors, tags, joiners.",
      holds:
        "All that Unicode calls ignorable, and letters that look blank, are shown by their number. Joiners and variation " +
        "selectors stay where a script or an emoji needs them, one at a time.",
    },
    {
      id: "T-TERM-9",
      threat:
        "An answer that a person gave for the rest of the turn lets something else happen unseen.",
      holds:
        "The help and the line that stays name what `Y` and `N` cover. An answer or a permission from memory is shown with " +
        "its whole question, context and arguments, also where the tool's calls are hidden. Names of files are never cut.",
    },
    {
      id: "T-TERM-10",
      threat:
        "A person edits the arguments of a call, and everything goes on as if they were the model's.",
      holds:
        "The screen, the transcript and `jp inquiry show` show what was run and what the model asked for. The model is told.",
    },
  ],
};

const paths: Area = {
  title: "Paths",
  threats: [
    {
      id: "T-PATH-1",
      threat: "A model has a file tool reach outside: `..`, absolute paths, links, NUL.",
      holds:
        "The path is resolved with its links, and refused if it ends outside of the workspace.",
    },
    {
      id: "T-PATH-2",
      threat: "Somebody puts a link in the place of a folder while a file tool works.",
      holds:
        "A folder is held open while its file is used, and refused if it is not the one that was meant. Where that " +
        "cannot be done, which is everywhere but on Linux, a moment remains.",
    },
    {
      id: "T-PATH-3",
      threat: "A title, a target or the name of a session is a path.",
      holds:
        "Folders are named by digits and letters, targets are looked up, names of sessions are hashed.",
    },
    {
      id: "T-PATH-4",
      threat: "A cloned record is a link to a file of the person's, which an append would change.",
      holds: "Events are not written through a link.",
    },
    {
      id: "T-PATH-5",
      threat:
        "A workspace's `extends`, or a link in the place of its config or of a record's file, leads to a private file, to have its text shown.",
      holds:
        "An error says the file, the line, the key and the type that was expected, and no value.",
    },
    {
      id: "T-PATH-6",
      threat: "A model changes what is run later: `.git`, `.jp`, `.jp.*`.",
      holds: "File tools do not write there, whatever the letters' case.",
    },
    {
      id: "T-PATH-7",
      threat:
        "A cloned workspace has a link in the place of `.jp`, of a folder or of a file in it: a private file is shown, or " +
        "copied to where a model can read it. Or a pipe, and jp waits for ever.",
      holds:
        "No link is followed inside `.jp`, and only regular files are read. A program with the person's own rights could " +
        "exchange a folder in the moment between the check and the opening.",
    },
    {
      id: "T-PATH-8",
      threat:
        "A model reads other conversations in `.jp`, or credentials in `.git`, by name, through a link, or where a " +
        "repository's folder has another name.",
      holds:
        "File tools neither list, read nor write there. A repository's folder is told by what is in it.",
    },
    {
      id: "T-PATH-9",
      threat: "A name in the workspace is a hard link to a private file.",
      holds:
        "File tools neither read nor write a file that has more than one name, because the others cannot be found. " +
        "Deleting the name is allowed: the file stays.",
    },
  ],
};

const secrets: Area = {
  title: "Secrets",
  threats: [
    {
      id: "T-SEC-1",
      threat:
        "A typed secret is left in a process list, an environment, a file, a log, the record or a request.",
      holds:
        "It is in jp's memory and on the tool's standard input. Files were searched while the tool had it.",
    },
    {
      id: "T-SEC-2",
      threat: "So is one that is configured.",
      holds: "It is in the file that says it, and marked private: no command shows it.",
    },
    {
      id: "T-SEC-3",
      threat: "So is one that an MCP server asks for.",
      holds: "Refused, unless config says `allow_secrets`; then treated like any secret.",
    },
    {
      id: "T-SEC-4",
      threat: "A provider's error repeats the key.",
      holds: "It is taken out of every error.",
    },
    {
      id: "T-SEC-5",
      threat: "The token in a header of an MCP server is shown or recorded.",
      holds: "Headers are private, and variables are put in when a request is made.",
    },
    {
      id: "T-SEC-6",
      threat: "A secret given with `--cfg` spreads.",
      holds:
        "It is on jp's own command line, which others on the machine can read, and nowhere else.",
    },
    {
      id: "T-SEC-7",
      threat: "A crash writes a report.",
      holds: "None is on. The message is that of the error.",
    },
    {
      id: "T-SEC-8",
      threat: "An MCP server reads the keys of providers in its environment.",
      holds:
        "It sees a few harmless variables, and those that its config names. A local tool sees all.",
    },
    {
      id: "T-SEC-9",
      threat: "A command's template puts a secret into the arguments.",
      holds: "The call fails, and the error does not have it.",
    },
  ],
};

const workspace: Area = {
  title: "A cloned workspace",
  threats: [
    {
      id: "T-WORK-1",
      threat:
        "Its config names a tool or a server, in any file, format, `extends`, link or load path, and some command starts it.",
      holds: "Everything that a workspace's files say is a claim, and not used before a yes.",
    },
    {
      id: "T-WORK-2",
      threat: "Its records do, in any form that records have had, or change after the question.",
      holds:
        "What a record remembers is a claim, too. Only what is in force by a yes is trusted with it.",
    },
    {
      id: "T-WORK-3",
      threat: "It brings the id of another workspace, to have the person's config for that one.",
      holds:
        "That config holds by itself only where its folder was made. Local conversations are found by the id.",
    },
    {
      id: "T-WORK-4",
      threat:
        "It loosens what holds for the person: policies, time limits, answers and tools that are off, `inherit = false`, parameters by " +
        "which a provider reaches others, an address on another machine.",
      holds:
        "These are claims. What is stricter, and what only looks different, is not; nor is how those of jp's own tools " +
        "work that only read, as far as the person has not said it.",
    },
    {
      id: "T-WORK-5",
      threat: "It stays trusted because a variable let it through once.",
      holds: "`JP_TRUSTED_WORKSPACES` is written nowhere.",
    },
    {
      id: "T-WORK-6",
      threat:
        "It words its config so that the question shows something else: line breaks, keys that do not count, hidden values, long lists.",
      holds:
        "The question tells what would happen, with the person's own part of it, a line each, words in quotes; how many " +
        "there are, and that there is more.",
    },
    {
      id: "T-WORK-7",
      threat:
        "It changes while the question is open, or is changed into something that passes for the same.",
      holds:
        "What was shown is what is used. Trust is a digest of content and place, outside of the workspace.",
    },
    {
      id: "T-WORK-8",
      threat: "Its names are completed by a shell, and run.",
      holds: "Only names that are one word to a shell are offered.",
    },
    {
      id: "T-WORK-9",
      threat: "Its config names the editor.",
      holds: "Editors come from the environment only.",
    },
    {
      id: "T-WORK-10",
      threat:
        "It names the variables that hold an address or a key, beside an address on this machine that needs no trust, and has " +
        "any variable of the environment sent anywhere.",
      holds:
        "Only the loopback address itself needs no trust. The variables are claims, for every command that reaches a provider.",
    },
    {
      id: "T-WORK-11",
      threat:
        "It switches on, loosens or answers a tool of jp's own that changes files, or answers `ask_user`, by the tool's name, " +
        "its group or for all tools.",
      holds:
        "Each builtin tool declares whether it only reads. Of all others, whatever is looser than the person's config is a claim.",
    },
    {
      id: "T-WORK-12",
      threat: "It loosens for all tools what the person has set to its default on purpose.",
      holds:
        "What counts is whether the person's own config sets the key, and not whether its value differs from the default.",
    },
    {
      id: "T-WORK-13",
      threat:
        "It passes parameters to a provider (`mcp_servers`) where nobody looks: for one question of a tool, for titles.",
      holds:
        "One check finds every place of the schema that takes a model's parameters. A new place is checked without being named.",
    },
    {
      id: "T-WORK-14",
      threat:
        "Its conversations, made on another machine, bring addresses, key variables and MCP servers of that machine.",
      holds:
        "Where things are reached comes from this machine's config and the command line. It is neither read from a " +
        "conversation nor written to one.",
    },
  ],
};

const files: Area = {
  title: "Changes to files",
  threats: [
    {
      id: "T-FILE-1",
      threat:
        "A model gets a yes for one file, for the rest of the turn, and deletes or overwrites another.",
      holds:
        "Deleting and overwriting are asked anew for each file. A yes to creating a file does not overwrite one that " +
        "came meanwhile.",
    },
    {
      id: "T-FILE-2",
      threat: "In a non-interactive run a model approves its own change.",
      holds:
        "The questions of the tools that change files are for a person. Only the person's config can let a model answer.",
    },
    {
      id: "T-FILE-3",
      threat: "A model writes a file whose content the person has not seen.",
      holds:
        "Nothing is written before a question that has the whole change as its context, new files included. Each " +
        "change has its own question on record, also where the person has said yes for the turn.",
    },
    {
      id: "T-FILE-4",
      threat: "A link in the workspace gives a file a harmless name.",
      holds: "The question names the link and the file it leads to.",
    },
    {
      id: "T-FILE-5",
      threat: "A workspace lets a model answer what is kept for the person (`exclusive = false`).",
      holds: "That is a claim, and shown as such.",
    },
    {
      id: "T-FILE-6",
      threat: "`jp init` promises to ask about more than jp asks about.",
      holds:
        "It says that its file tools read without asking and show every change first, and that the choice is about " +
        "other tools.",
    },
  ],
};

const others: Area = {
  title: "Models and neighbours",
  threats: [
    {
      id: "T-RUN-1",
      threat: "A model's argument is read as code by a shell.",
      holds: "It is one word, in the program's text as in its arguments.",
    },
    {
      id: "T-RUN-2",
      threat: "A tool's context gives orders to the model that answers its question.",
      holds:
        "It stands in a fence that it cannot close. A model may obey it all the same: keep such questions for people.",
    },
    {
      id: "T-RUN-3",
      threat: "A program or a web page on this machine talks to `jp mcp serve --http`.",
      holds: "Loopback only, with a token, and for the right host.",
    },
    {
      id: "T-INQ-1",
      threat:
        "A tool asks a model again and again, and each time the provider reads the whole conversation anew, at the full price.",
      holds:
        "The request begins byte for byte as the conversation's own, tools included, so that the provider's cache serves " +
        "both. Only the last of three attempts may give up the cache, and none the tools.",
    },
    {
      id: "T-INQ-2",
      threat: "A model that is asked for an answer calls a tool instead, or beside its answer.",
      holds: "Nothing runs. Such a reply is not an answer, and the third one fails the question.",
    },
    {
      id: "T-LOCK-1",
      threat: "The command `flock` hangs, fails or is missing.",
      holds:
        "It gets five seconds, then jp goes on without it and says so: only the Rust version of jp is not kept out.",
    },
    {
      id: "T-PROG-1",
      threat:
        "`PATH` has an empty or relative entry, and a workspace brings a `flock`, `sh`, `stty` or editor of its own.",
      holds:
        "Programs that jp runs for itself are looked for in absolute folders only. What a configured tool or server is " +
        "called is up to whoever configured it.",
    },
    {
      id: "T-COMPAT-1",
      threat:
        "The Rust original opens a conversation of ours, does not understand its config, and starts it anew or not at all.",
      holds:
        "Base config and config deltas hold only keys and values that it knows, with everything that it requires. What is " +
        "ours alone is an event of a type that it keeps as it is.",
    },
    {
      id: "T-COMPAT-2",
      threat:
        "It saves a conversation, and a refusal is a null afterwards: nothing says that there was no answer, or who answered.",
      holds:
        "Every response has an answer, which is null where there is none. Outcome, reason and who answered are also in the " +
        "metadata, which it keeps; a null without them is no answer. It cannot open a conversation with a secret question.",
    },
    {
      id: "T-RUN-4",
      threat:
        "A run without a terminal denies a permission, a question or a result, and looks like a success to CI.",
      holds:
        "The answer is printed, what was denied is named on standard error, and the status is 3.",
    },
    {
      id: "T-RUN-5",
      threat:
        "A tool or a server asks again and again, with a new question id each time, and is answered each time without a " +
        "person.",
      holds:
        "`conversation.limits` caps such answers for each call and for each turn. Then the call fails " +
        "(`attempts_exhausted`).",
    },
    {
      id: "T-RUN-6",
      threat: "A tool fills the record: with a huge question, many of them, or a huge result.",
      holds:
        "A call may add so many bytes and no more (`conversation.limits`). A question beyond them is not asked and not " +
        "recorded, and the call fails; a result is cut, and says so.",
    },
  ],
};

const servers: Area = {
  title: "MCP servers that do not end",
  threats: [
    {
      id: "T-MCP-1",
      threat: "A server never replies to a call, or reports progress for ever instead.",
      holds:
        "The call ends after `timeout_secs`, which is 300 for MCP tools unless set. Progress does not extend it; only the " +
        "time in which a person is asked does not count.",
    },
    {
      id: "T-MCP-2",
      threat:
        "A server floods jp: with a message that does not end, progress, requests of which it never reads the reply, " +
        "questions outside of a call, pages of its list of tools, or streams that it cuts at once.",
      holds:
        "Each has a limit. Progress beyond it is dropped, a stream is reopened every half second at most, and anything " +
        "else ends the connection. Memory does not grow with the flood.",
    },
  ],
};

export const areas: readonly Area[] = [
  provenance,
  terminal,
  paths,
  secrets,
  workspace,
  files,
  others,
  servers,
];

const ids = new Set(areas.flatMap(({ threats }) => threats.map(({ id }) => id)));

/** Called inside a test with string literals; the page of threats is made from these calls. */
export function counters(...cited: readonly string[]): void {
  for (const id of cited) {
    if (!ids.has(id)) throw new Error(`There is no threat "${id}".`);
  }
}
