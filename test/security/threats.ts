/** The threats that jp defends against, and how a test says which of them it covers. */

export interface Threat {
  readonly id: string;
  /** What an attacker does, or what goes wrong. */
  readonly threat: string;
  /** What jp does about it, and what it does not cover. */
  readonly defence: string;
}

export interface Area {
  readonly title: string;
  readonly threats: readonly Threat[];
}

const decisions: Area = {
  title: "What was decided, and what runs",
  threats: [
    {
      id: "T-DECIDE-1",
      threat:
        "A script, a program, a server's description of its tool, a default of an argument or a file changes while an " +
        "approval waits, and the call runs as something else.",
      defence:
        "A decision is recorded with the digest of its subject, which is built again before a call runs and before an " +
        "answer reaches a tool. A yes to something else is void, and asked again.",
    },
    {
      id: "T-DECIDE-2",
      threat: "One approval is used by several copies of a conversation.",
      defence:
        "The conversation is part of the subject: in a fork, every unfinished call is asked about again.",
    },
    {
      id: "T-DECIDE-3",
      threat: "A call that changes after every approval wears the person down.",
      defence: "After three decisions that no longer count, the call fails.",
    },
    {
      id: "T-DECIDE-4",
      threat:
        "An approval that was exported to an answers file approves more than the call that was shown.",
      defence:
        "Exported entries are exact: they match calls with equal arguments, and no others. What TOML cannot hold " +
        "becomes a comment. An entry that a person writes without `exact` lets other arguments through.",
    },
    {
      id: "T-DECIDE-5",
      threat:
        "A reply has many calls, one of them harmful among harmless ones, so that a yes meant for one falls on another.",
      defence:
        "Several calls are listed on one screen, in their order, and each has a decision of its own on record. A yes to all covers only " +
        "those that were on the screen in full; one that destroys, has no sandbox or is cut off has to be opened. Keys that were pressed for " +
        "one call do not answer for another. A model can still ask so often that a person stops reading: save a narrow rule instead.",
    },
  ],
};

const saved: Area = {
  title: "Permissions that were saved at a prompt",
  threats: [
    {
      id: "T-SAVED-1",
      threat:
        "A rule that jp proposes lets through more than the person saw, or something that cannot be undone.",
      defence:
        "Proposals are the call itself, its files, their folder, a command's first words or a host, and only where no other " +
        "argument could make a later call something else. None is made for calls that destroy, and none for what deletes or " +
        "overwrites a file. A rule that a person writes may be as broad as they say.",
    },
    {
      id: "T-SAVED-2",
      threat:
        "A model chooses arguments whose characters become part of the rule, or of how it is shown.",
      defence:
        "The values of a rule are the arguments as they are, matched as values and not as patterns, and shown verbatim.",
    },
    {
      id: "T-SAVED-3",
      threat:
        "A rule saved for one tool lets another one run: one of the same name, or a program that was replaced.",
      defence:
        "A rule is for one tool of one source. If its program, its files or its server's description change, jp asks again.",
    },
    {
      id: "T-SAVED-4",
      threat:
        "A workspace, a clone with the same id, or another user puts rules where jp finds them.",
      defence:
        "They are in the user's own data folder, in a file for the real path of the workspace. A file that anyone else owns, " +
        "can write or can read is not used.",
    },
    {
      id: "T-SAVED-5",
      threat: "A model wants a broad rule, or a stray key grants one.",
      defence:
        "What is proposed follows from the call alone, never from words of the model, and is never the whole workspace. Enter alone " +
        "chooses nothing.",
    },
    {
      id: "T-SAVED-6",
      threat:
        "After a yes for the turn, or with a saved rule, a model runs the same tool with a network, without a sandbox, in another " +
        "folder, on files elsewhere, or a command with an option that the person has not seen.",
      defence:
        "Such a yes covers what was shown of how the call runs, and folders below. A rule for the first words of a command covers only " +
        "the options that were shown. A call with a network is asked about each time.",
    },
  ],
};

const rules: Area = {
  title: "Rules on arguments",
  threats: [
    {
      id: "T-RULE-1",
      threat:
        "A path is written in another way, or leads elsewhere by a link, so that a rule that stops it does not find it, or one " +
        "that lets it run does.",
      defence:
        "Paths are compared as the files that they lead to when the call is made. A rule that lets calls run holds for nothing outside of its " +
        'folder; one that stops them finds other spellings too. A tool of the user\'s needs `type = "path"` for it.',
    },
    {
      id: "T-RULE-2",
      threat: "One harmless element of a list lets the others through.",
      defence:
        "A rule that lets a call run needs all elements, and at least one. One that stops it needs a single element.",
    },
    {
      id: "T-RULE-3",
      threat: "A pattern takes forever on text that a model chose, or cannot be used.",
      defence:
        "Patterns take linear time. One that cannot be used lets nothing run, and stops whatever it may be about.",
    },
    {
      id: "T-RULE-4",
      threat: "A person edits the arguments of a call into something that a rule stops.",
      defence: "The rules decide again about what the person has made of the call.",
    },
    {
      id: "T-RULE-5",
      threat: "A workspace brings rules that let its own choice of calls run.",
      defence:
        "Such rules are claims. Also trusted ones come after the user's, do not bring back what the user skips, and do not answer the " +
        "questions of file tools.",
    },
    {
      id: "T-RULE-6",
      threat: "A server gives its tool a name that a rule for another tool lets run.",
      defence:
        "A rule for all tools lets a server's tool run by that name only if it names the server.",
    },
    {
      id: "T-RULE-7",
      threat: "A rule for edits lets a file be deleted or overwritten.",
      defence:
        "The questions about deleting and overwriting are answered only by a rule that names them.",
    },
    {
      id: "T-RULE-8",
      threat:
        "An argument without a type begins as a rule says, and leads elsewhere: `app/../.env`, `app/%2e%2e/.env` or `app//etc`.",
      defence:
        "A prefix or glob with a slash lets through no text with `.` or `..` between slashes, an empty segment, a backslash or a control character, " +
        "also percent-encoded. Rules that stop a call still find it. Regular expressions are left as they are, and what `..` after a link or " +
        'another spelling leads to is only known with `type = "path"`: `jp doctor` and `jp tool check` say where it is missing.',
    },
  ],
};

const modes: Area = {
  title: "Modes",
  threats: [
    {
      id: "T-MODE-1",
      threat:
        "Something is changed in the mode `plan`, because a rule allows it, or a server says that its tool only reads.",
      defence:
        "Only tools of which jp or the user says that they read can run, and commands that a rule of the user's own allows, where they can change nothing. " +
        "Rules of a workspace do not change that, and the word of a server does not count.",
    },
    {
      id: "T-MODE-2",
      threat:
        "The mode `edits` approves what another program asks under the name of a file tool's question.",
      defence: "The mode answers only jp's own file tools.",
    },
    {
      id: "T-MODE-3",
      threat: "The mode `sandbox` runs a command that is not confined, or has a network.",
      defence:
        "The mode does not let it run: it is asked about, unless a rule or a setting of the user's says otherwise.",
    },
    {
      id: "T-MODE-4",
      threat:
        "A command that runs in the mode `plan` changes a file, or sends what it reads to another machine.",
      defence:
        "It runs only in the sandbox, where the workspace is read-only too, without a network. Where there is none, and with a network or write access to " +
        "`.git`, it is refused. The mode counts as it is when the command starts.",
    },
  ],
};

const undo: Area = {
  title: "Undo",
  threats: [
    {
      id: "T-UNDO-1",
      threat: "An undo restores a file over changes that someone has made since.",
      defence:
        "If one of the files has changed, nothing is restored, and the files are named. A forced undo keeps what it replaces.",
    },
    {
      id: "T-UNDO-2",
      threat: "A link has taken the place of a folder, so that an undo writes elsewhere.",
      defence: "An undo writes through no link.",
    },
    {
      id: "T-UNDO-3",
      threat: "A repository names programs that Git runs while jp looks for changes.",
      defence: "Git runs without them.",
    },
    {
      id: "T-UNDO-4",
      threat: "The copies of changed files, secrets included, are read by others or committed.",
      defence: "They are in the user's data folder, for the user alone, and not encrypted.",
    },
    {
      id: "T-UNDO-5",
      threat: "jp is killed during a turn or an undo, and a file is lost.",
      defence:
        "What was there is stored before the first change, so that either can be undone or repeated. After a command that was cut off, " +
        "jp needs to be told that later changes may go.",
    },
    {
      id: "T-UNDO-6",
      threat: "A workspace sees to it that nothing is kept.",
      defence: "`undo.keep = false` in its files is a claim.",
    },
    {
      id: "T-UNDO-7",
      threat:
        "Files are hidden from Git, with `git rm --cached` and an ignore rule, and then deleted.",
      defence:
        "The names that Git knew before the turn's first command, or has known since, count for the rest of the turn. They are in its " +
        "journal, so that a restart changes nothing.",
    },
    {
      id: "T-UNDO-8",
      threat: "A command makes a file and has Git ignore it, so that an undo leaves it there.",
      defence:
        "If what Git ignores has changed during a command, new ignored files count as its changes.",
    },
    {
      id: "T-UNDO-9",
      threat: "A file has a name that is not UTF-8, and is not kept, or is shown as another.",
      defence: "Names are kept byte for byte. Bytes that are not UTF-8 are shown escaped.",
    },
    {
      id: "T-UNDO-10",
      threat:
        "A command deletes what is not kept, and an undo says that there is nothing to undo, or takes other files for new ones.",
      defence:
        "The prompt and every undo of commands say what is not kept. An ignored file or a nested repository that a command deletes is named.",
    },
    {
      id: "T-UNDO-11",
      threat:
        "Git's index, or the journal of a turn, is damaged or emptied, and changes are passed over in silence.",
      defence:
        "The damage is named. What Git listed earlier in the turn, and what can still be read of a journal, is restored.",
    },
    {
      id: "T-UNDO-12",
      threat: "A disk is full, and an undo stops halfway.",
      defence:
        "What failed is named, and the next undo completes it. If copies cannot be saved, the command does not run.",
    },
  ],
};

const provenance: Area = {
  title: "Who asked, and who answered",
  threats: [
    {
      id: "T-PROV-1",
      threat: "A config claims who asks or who answered, or gives a tool another tool's label.",
      defence:
        "Who asks follows from the code path that asked. Labels are shown and never recorded. The " +
        "author of a message is a name from the config and proves nothing.",
    },
    {
      id: "T-PROV-2",
      threat:
        "A tool prints a source, an `answered_by`, ids or whole record events in its question or " +
        "its result.",
      defence: "jp reads only the question. A result is text.",
    },
    {
      id: "T-PROV-3",
      threat: "An MCP server sends the same in `_meta` or next to its form.",
      defence:
        "A server's question is recorded as asked by the tool that was called, under its name in " +
        "the config.",
    },
    {
      id: "T-PROV-4",
      threat: "Someone edits a record.",
      defence:
        "Records are not signed: anyone who can write the file can write any answer. jp shows the " +
        "record as it is. It does not list an answer without a question, ignores a second answer, " +
        "and names no one where the record names no one.",
    },
    {
      id: "T-PROV-5",
      threat: "A model claims in its text or arguments that the user answered.",
      defence:
        "Text is text. Answers come only from a prompter, the config, the question's default or the inquiry model.",
    },
    {
      id: "T-PROV-6",
      threat: "A tool draws a fake prompt to capture a key press or a password.",
      defence:
        "Tools and servers run in their own sessions, cannot open `/dev/tty` and have no keyboard. " +
        "jp shows their output as theirs. A program that finds the terminal device by its path can " +
        "still use it.",
    },
    {
      id: "T-PROV-7",
      threat: "Keys pressed before a question appears answer it.",
      defence: "jp discards everything typed before the question.",
    },
    {
      id: "T-PROV-8",
      threat:
        "jp is ended while it is asking (SIGTERM, SIGHUP, a closed terminal, a client that " +
        "disconnects, the program around it), or a client declines without asking, and the record says that the user " +
        "refused.",
      defence:
        "The reason is `interrupted` or `declined_by_client`, no decision of a person is recorded, and the model is told " +
        "how far the call got. Only what a person did at a prompt or in the interrupt menu is recorded as the " +
        "user's decision.",
    },
    {
      id: "T-PROV-9",
      threat:
        "The result of a tool reads like the assistant's own words, because the tool addresses it to the user or a " +
        "workspace's config shows it that way.",
      defence:
        "On record, only `tell_user` speaks for the assistant. In a workspace's config, " +
        '`inline_results.user = "chat"` is a claim.',
    },
  ],
};

const terminal: Area = {
  title: "The terminal",
  threats: [
    {
      id: "T-TERM-1",
      threat:
        "A config contains escape sequences in names, texts, commands, unknown keys or wrong " +
        "values.",
      defence: "jp neutralizes all text that is not its own before it writes it to the terminal.",
    },
    {
      id: "T-TERM-2",
      threat: "Paths, variables or command-line arguments contain escape sequences.",
      defence: "jp neutralizes them too.",
    },
    {
      id: "T-TERM-3",
      threat:
        "Output of a model, a tool or a provider's error contains escape sequences, of any length " +
        "and in both forms of C1: text, reasoning, arguments, questions, options, progress, " +
        "results.",
      defence:
        "jp neutralizes it too. Text longer than the screen says so, and can be read in full.",
    },
    {
      id: "T-TERM-4",
      threat:
        "An MCP server sends escape sequences in its name, its tools or its forms, or prints them " +
        "when it fails.",
      defence: "jp neutralizes them too.",
    },
    {
      id: "T-TERM-5",
      threat:
        "A record contains escape sequences in titles, ids, authors, unknown event kinds or " +
        "damaged files.",
      defence:
        "jp neutralizes them too, including in JSON output and in piped output meant for people.",
    },
    {
      id: "T-TERM-6",
      threat: "An unexpected error contains escape sequences.",
      defence: "jp prints it like any other error, without a stack trace unless `JP_DEBUG=1`.",
    },
    {
      id: "T-TERM-7",
      threat:
        "A question, its context, an option, a call's arguments or a result is longer than the " +
        "screen, so that the user answers after seeing only a harmless part of it.",
      defence:
        "jp shows it from the start, with the number of remaining lines. No key answers until the " +
        "end was on screen or the user skipped to it with a key that does only that, even if the " +
        "screen is resized. Plain mode prints everything.",
    },
    {
      id: "T-TERM-8",
      threat:
        "Text contains characters that no font draws: fillers that look like spaces, variation " +
        "selectors, tags, joiners.",
      defence:
        "jp shows everything that Unicode calls ignorable, and letters that look blank, by code " +
        "point. Joiners and variation selectors stay where a script or an emoji needs them, one at " +
        "a time.",
    },
    {
      id: "T-TERM-9",
      threat:
        "An answer that the user gave for the rest of the turn lets something else happen unseen.",
      defence:
        "The help, and the line left on screen, name what `Y` and `N` cover. jp shows a remembered " +
        "answer or permission with its whole question, context and arguments, even if the tool's " +
        "calls are hidden. File names are never cut.",
    },
    {
      id: "T-TERM-10",
      threat:
        "The user edits a call's arguments, and everything continues as if the model had sent them.",
      defence:
        "The screen, the transcript and `jp inquiry show` show what ran and what the model asked " +
        "for. The model is told.",
    },
    {
      id: "T-TERM-11",
      threat:
        "A path, an argument, an option or a change looks like another one: other or more spaces, controls, letters of " +
        "other scripts, accents, directions, a line that wraps like the next one.",
      defence:
        "Where the answer acts, jp shows it verbatim: everything that is not certain to be seen by its code point, " +
        "long runs of spaces by their number, right-to-left words between marks, wrapped rows with an arrow. Accents that " +
        "differ only slightly, and letters of one script that look alike, are not told apart.",
    },
    {
      id: "T-TERM-12",
      threat: "The user presses Enter for something else, and a tool does what its default says.",
      defence:
        "Enter alone decides no permission and no question of a tool that acts. It takes another key first.",
    },
    {
      id: "T-TERM-13",
      threat:
        "A file with text that was not sent is damaged or forged, contains escape sequences, or belongs to another " +
        "session or workspace.",
      defence:
        "jp puts a file aside that it cannot read, or that others could have written. Text comes back at the prompt " +
        "of its own conversation, neutralized, once its session has ended. Only the user sends it.",
    },
    {
      id: "T-TERM-14",
      threat:
        "The user pauses after the first letter of a reply, and the letter allows every call of the turn, or saves a rule.",
      defence:
        "A key for more than one call decides nothing by waiting. The prompt shows what it covers until Enter confirms it, and any other key " +
        "makes it the first letter of words. The key s only opens a list, which any letter closes again. What is typed stays there as words.",
    },
  ],
};

const paths: Area = {
  title: "Paths",
  threats: [
    {
      id: "T-PATH-1",
      threat:
        "A model uses a file tool to reach outside the workspace: `..`, absolute paths, links, NUL.",
      defence:
        "jp resolves the path, links included, and refuses it if it ends outside the workspace.",
    },
    {
      id: "T-PATH-2",
      threat: "Someone replaces a folder with a link while a file tool works in it.",
      defence:
        "jp keeps the folder open while it uses the file, and refuses a folder that is not the " +
        "expected one. This works on Linux only; elsewhere a short gap remains.",
    },
    {
      id: "T-PATH-3",
      threat: "A title, a target or a session name is a path.",
      defence:
        "Folder names contain only letters, digits and dashes, targets are looked up, and session names " +
        "are hashed.",
    },
    {
      id: "T-PATH-4",
      threat:
        "A cloned record is a link to one of the user's own files, which an append would change.",
      defence: "jp never writes events through a link.",
    },
    {
      id: "T-PATH-5",
      threat:
        "A workspace's `extends`, or a link in place of its config or a record file, points at a " +
        "private file, so that an error shows its text.",
      defence:
        "An error names the file, the line, the key and the expected type, and never a value.",
    },
    {
      id: "T-PATH-6",
      threat: "A model changes files that are run later: `.git`, `.jp`, `.jp.*`.",
      defence: "File tools do not write there, whatever the case of the letters.",
    },
    {
      id: "T-PATH-7",
      threat:
        "A cloned workspace has a link in place of `.jp`, or of a folder or file in it, so that a " +
        "private file is shown or copied to where a model can read it. Or it has a pipe, so that " +
        "jp waits forever.",
      defence:
        "jp follows no links inside `.jp` and reads only regular files. A program with the user's " +
        "own rights could swap a folder between the check and the opening.",
    },
    {
      id: "T-PATH-8",
      threat:
        "A model reads other conversations in `.jp` or credentials in `.git`: by name, through a " +
        "link, or in a repository folder with another name.",
      defence:
        "File tools do not list, read or write there. jp recognizes a repository folder by its " +
        "content.",
    },
    {
      id: "T-PATH-9",
      threat: "A file in the workspace is a hard link to a private file.",
      defence:
        "File tools do not read or write a file with more than one name, because its other names " +
        "cannot be found. They may delete the name: the file stays.",
    },
  ],
};

const secrets: Area = {
  title: "Secrets",
  threats: [
    {
      id: "T-SEC-1",
      threat:
        "A secret that the user typed ends up in a process list, an environment, a file, a log, " +
        "the record or a request.",
      defence:
        "It exists only in jp's memory and on the tool's standard input. The tests search all " +
        "files while the tool has it.",
    },
    {
      id: "T-SEC-2",
      threat: "A secret from the config ends up there.",
      defence: "It stays in the file that defines it and is marked private: no command shows it.",
    },
    {
      id: "T-SEC-3",
      threat: "A secret that an MCP server asks for ends up there.",
      defence:
        "jp refuses such a form unless the config sets `allow_secrets`; then it treats the field " +
        "like any other secret.",
    },
    {
      id: "T-SEC-4",
      threat: "A provider's error repeats the API key.",
      defence: "jp removes the key from every error.",
    },
    {
      id: "T-SEC-5",
      threat: "A token in an MCP server's header is shown or recorded.",
      defence:
        "Headers are private, and jp expands variables in them only when it sends a request.",
    },
    {
      id: "T-SEC-6",
      threat: "A secret passed with `--cfg` spreads.",
      defence:
        "It appears on jp's own command line, which other users of the machine can read, and " +
        "nowhere else.",
    },
    {
      id: "T-SEC-7",
      threat: "A crash writes a report that contains a secret.",
      defence: "jp enables no crash reports. It prints only the error.",
    },
    {
      id: "T-SEC-8",
      threat: "An MCP server reads provider keys from its environment.",
      defence:
        "It gets a few harmless variables and those that its config names. A local tool gets them " +
        "all.",
    },
    {
      id: "T-SEC-9",
      threat: "A command template puts a secret into the arguments.",
      defence: "The call fails, and the error does not contain the secret.",
    },
    {
      id: "T-SEC-10",
      threat:
        "A secret that the user types in one process, for a tool that another one runs, ends up in " +
        "a file, a record, a log or a process list on the way.",
      defence:
        "It goes over a Unix socket, which exists only while the other process asks for it. The " +
        "record says `redacted`. Without such a process jp refuses the secret.",
    },
    {
      id: "T-SEC-11",
      threat:
        "Another user of the machine connects to that socket, or puts something in its place, to " +
        "get the secret or to give one.",
      defence:
        "The socket and the file with its address are in folders that only the user can enter. " +
        "jp checks the owner and the permissions of each, and follows no links. A program with the " +
        "user's own rights could listen there.",
    },
    {
      id: "T-SEC-12",
      threat:
        "The server of a provider, or an MCP server, redirects a request, with its key and its content, to another host.",
      defence:
        "Requests to providers and MCP servers are redirected only within their origin, and only as they are.",
    },
    {
      id: "T-SEC-13",
      threat:
        "The text that jp keeps for the next session contains an answer or a secret, or other users read it.",
      defence:
        "Only messages are kept: nothing that is typed at a question, no text that starts with a space or " +
        "seems to contain a secret. Only the user can read the files.",
    },
  ],
};

const workspace: Area = {
  title: "A cloned workspace",
  threats: [
    {
      id: "T-WORK-1",
      threat:
        "Its config names a tool or a server, in any file, format, `extends`, link or load path, " +
        "and some command starts it.",
      defence:
        "Everything that a workspace's files would run, reach or loosen is a claim. jp uses no " +
        "claim until the user trusts it.",
    },
    {
      id: "T-WORK-2",
      threat:
        "Its records do the same, in any format records ever had, or they change after the user " +
        "was asked.",
      defence:
        "Config in a record is a claim too. A conversation is trusted only with what was already " +
        "trusted or came from the user.",
    },
    {
      id: "T-WORK-3",
      threat: "It uses the id of another workspace, to get the user's config for that one.",
      defence:
        "That config applies by itself only at the path it was created for. Local conversations " +
        "are found by the id.",
    },
    {
      id: "T-WORK-4",
      threat:
        "It loosens the user's settings: policies, time limits, answers, disabled tools, `inherit = false`, what Ctrl-C does, " +
        "parameters through which a provider reaches others, an address on another machine, attachments that run a " +
        "command, load a page, read an MCP resource or name a file with passwords.",
      defence:
        "These are claims. Stricter settings and settings of appearance are not. Neither are " +
        "settings of jp's own read-only tools that the user's config does not set.",
    },
    {
      id: "T-WORK-5",
      threat: "It stays trusted because a variable allowed it once.",
      defence: "jp never stores what `JP_TRUSTED_WORKSPACES` allows.",
    },
    {
      id: "T-WORK-6",
      threat:
        "It words its config so that the trust question shows something else: line breaks, keys " +
        "that have no effect, hidden values, long lists.",
      defence:
        "The question shows what would happen, including the user's own part of it, one line each, " +
        "with text in quotes. It says how many claims there are and whether more follow.",
    },
    {
      id: "T-WORK-7",
      threat:
        "It changes while the question is open, or changes into something that looks the same.",
      defence:
        "jp uses what it showed. Trust is stored outside the workspace as a digest of the content " +
        "and the path.",
    },
    {
      id: "T-WORK-8",
      threat: "A shell completes its names and runs them.",
      defence: "Completion offers only names that are a single word to a shell.",
    },
    {
      id: "T-WORK-9",
      threat: "Its config sets the editor, for a message or at the prompt of a session.",
      defence: "That is a claim. Without trust, jp opens the user's own editor.",
    },
    {
      id: "T-WORK-10",
      threat:
        "Next to a local address that needs no trust, it names variables for the address or the " +
        "key, so that jp sends any environment variable anywhere.",
      defence:
        "Only a model server on the loopback address needs no trust. The variables are claims for " +
        "every command that reaches a provider.",
    },
    {
      id: "T-WORK-11",
      threat:
        "It enables, loosens or answers for one of jp's own tools that change files, or answers " +
        "`ask_user`: by the tool's name, its group or for all tools.",
      defence:
        "Each builtin tool declares whether it only reads. For all others, any setting looser than " +
        "the user's config is a claim.",
    },
    {
      id: "T-WORK-12",
      threat: "It loosens for all tools what the user has deliberately set to the default.",
      defence:
        "What counts is whether the user's own config sets the key, not whether its value differs " +
        "from the default.",
    },
    {
      id: "T-WORK-13",
      threat:
        "It passes parameters to a provider (`mcp_servers`) in an unusual place: for one question " +
        "of a tool, or for titles.",
      defence:
        "One check finds every place in the schema that takes model parameters, including places " +
        "added later.",
    },
    {
      id: "T-WORK-14",
      threat:
        "Its conversations come from another machine and bring that machine's addresses, key " +
        "variables and MCP servers.",
      defence:
        "jp takes addresses, key variables and servers from this machine's config and the command " +
        "line. It neither reads them from a conversation nor writes them to one.",
    },
    {
      id: "T-WORK-15",
      threat:
        "One of its conversations ends with a turn that waits, and the record says that the user has " +
        "permitted its calls and answered their questions.",
      defence:
        "A copy of what the user's own processes have written of a turn is in the user's data folder. " +
        "Another turn is continued only after the user has seen its calls and said yes, and never " +
        "without a terminal.",
    },
    {
      id: "T-WORK-16",
      threat:
        "It has someone else answer a question, lets others answer what the user keeps for one " +
        "person, or gives the user that person's name.",
      defence: "Each of these is a claim, and the trust question shows it.",
    },
    {
      id: "T-WORK-17",
      threat:
        "Its `AGENTS.md` or the name of its branch gives orders to models, the file is a link to a file with passwords, or changes while the user is asked.",
      defence:
        "The text reaches a model only after trust, and as it was when the user was asked. The question shows all of it, or " +
        "what has changed since it was trusted. Links that lead out of the " +
        "workspace, to files of Git and jp, or to files that look like passwords are ignored. Names of branches are cut.",
    },
    {
      id: "T-WORK-18",
      threat:
        "The user adds an MCP server to it, and another of its files changes what that server runs.",
      defence: "Only what the user has written is trusted. jp warns about the rest.",
    },
    {
      id: "T-WORK-19",
      threat:
        "It has the id of another workspace and a copy of a conversation that waits there, with a harmless text in " +
        "place of the question. The user answers it in the clone.",
      defence:
        "An answer or a secret comes with the real path of its workspace. A process takes none from another path, and " +
        "whoever gave it is told. A turn is the user's own only at the path where they left it. A database has one record for " +
        "all clones with the same id, and each machine signs the turns that it leaves there.",
    },
    {
      id: "T-WORK-20",
      threat:
        "It chooses the model and the prompt that answer for the user, and so approves what a tool of the user asks.",
      defence:
        "Where a model may answer for a tool that is not the workspace's own, the models, prompts and instructions of the " +
        "workspace are claims, and so is another meaning of a short name that the user has for a model.",
    },
    {
      id: "T-WORK-21",
      threat:
        "It raises a limit, names the conversation that the next message goes to, or has the user's private " +
        "conversations stored in it.",
      defence: "Each setting that loosens what the user has is a claim.",
    },
    {
      id: "T-WORK-22",
      threat:
        "Another user of the machine puts a `.jp` into a shared parent folder such as `/tmp`, to get an API key at a " +
        "port of this machine.",
      defence:
        "A workspace that belongs to another user is refused, unless `JP_SAFE_WORKSPACES` or `JP_TRUSTED_WORKSPACES` names " +
        "it. An address on this machine is a claim, too, where the key of a cloud provider would go there.",
    },
    {
      id: "T-WORK-23",
      threat: "It names a model whose name is part of a URL: `../files`, or one with a query.",
      defence: "`..`, `?`, `#`, `%` and `\\` are rejected in the names of models.",
    },
    {
      id: "T-WORK-24",
      threat:
        "It has the id of another workspace, and so finds the user's local conversations and sessions of that one.",
      defence:
        "They belong to the real path as well. If nothing is at that path any more, the user is asked whether the " +
        "workspace was moved, and without a terminal nothing is read or written there.",
    },
    {
      id: "T-WORK-25",
      threat:
        "A command in its `.jp/commands` sends orders to a model as a message of the user's, takes the place of one of " +
        "jp's or the user's commands, describes itself as something else, or is a link to a file with passwords.",
      defence:
        "Each command is a claim: its text is shown whole, or what has changed in it, before it is sent the first time. Until " +
        "then its description is not shown. The names of jp and the user come first, and links are not followed.",
    },
    {
      id: "T-WORK-26",
      threat:
        "Its conversations say that the user has approved many calls, so that `jp permissions propose` offers rules for them.",
      defence:
        "Only decisions count whose links this machine has added to the chain, made at a terminal or with the owner's link of the desk. " +
        "Which links those are is in the user's data folder, with the digest of the last one, so that neither a forged record nor a forged " +
        "chain adds to them. Each counts once, and only for the call that was decided about. A rule is saved only if the user says so.",
    },
    {
      id: "T-WORK-27",
      threat:
        "The file with a workspace's id is damaged, for example by a merge, and the user's pending decisions, sessions and " +
        "local conversations seem to be gone.",
      defence:
        "Every command in the workspace fails, names the file and lists the ids that this machine has for its path. jp never writes over the " +
        "file, and makes an id only if there is no file.",
    },
    {
      id: "T-WORK-28",
      threat:
        "A compaction in its records says other things of the turns before it than there are: millions of turns, or settings that " +
        "stand nowhere.",
      defence:
        "Only config changes and compactions are taken from it, and the config is a claim like any other. The number of turns has to " +
        "fit the start of the compaction's own turn and the length of the file, or all of the record is read. At most 64 compactions are looked at.",
    },
    {
      id: "T-WORK-29",
      threat:
        "It brings the `.jp/.store-id` of another project, copied from a public repository, or something else in that place, so that " +
        "the user's conversations in a database mix with those of that project, or that project's clones are refused.",
      defence:
        "The file is read like a record: a link, a long file or anything but one id is an error. The conversations of a database are for all " +
        "clones with the file, as they were for all with the same `.id`, and so are those that the user starts in this one. What would run is a claim all the same, " +
        "an approval counts only for the same call with the same program, and each machine signs its turns. Local conversations belong to the path. A clone " +
        "claims a workspace that goes by its five digits only by `jp store claim`, or a yes to a question that says what it means.",
    },
    {
      id: "T-WORK-30",
      threat:
        "Two repositories that share a database have the same five digits in `.jp/.id` by chance, and so each other's conversations.",
      defence:
        "128 random bits in `.jp/.store-id` name a workspace there. One from before goes on by its five digits until someone claims it; then " +
        "the other repository is refused, and can start a workspace of its own. Until then, the two share what they have.",
    },
    {
      id: "T-WORK-31",
      threat:
        "Someone who can write to the database gives the row of one workspace the id of another, so that turns with approvals " +
        "continue with the tools of the other.",
      defence:
        "The database lets no login change an id that is set. Turns are signed under the name of their row, and a name that fits neither the id in " +
        "the files of the workspace nor its `.id` is refused.",
    },
  ],
};

const files: Area = {
  title: "Changes to files",
  threats: [
    {
      id: "T-FILE-1",
      threat:
        "A model gets a yes for one file for the rest of the turn, and deletes or overwrites " +
        "another.",
      defence:
        "jp asks about deleting and overwriting for every file. A yes to creating a file does not " +
        "overwrite one that has appeared since.",
    },
    {
      id: "T-FILE-2",
      threat: "In a non-interactive run, a model approves its own change.",
      defence:
        "Questions from tools that change files are for a person. Only the user's config can let a " +
        "model answer them.",
    },
    {
      id: "T-FILE-3",
      threat: "A model writes a file whose content the user has not seen.",
      defence:
        "jp writes nothing before a question that shows the whole change, also for new files. Each " +
        "change has its own question on record, even if the user said yes for the turn.",
    },
    {
      id: "T-FILE-4",
      threat: "A link in the workspace gives a file a harmless name.",
      defence: "The question names the link and the file it points to.",
    },
    {
      id: "T-FILE-5",
      threat:
        "A workspace lets a model answer questions reserved for a person (`exclusive = false`).",
      defence: "That is a claim, and the trust question shows it.",
    },
    {
      id: "T-FILE-6",
      threat: "`jp init` promises to ask about more than jp asks about.",
      defence:
        "It says that the file tools read without asking and show every change first, and that the " +
        "choice is about other tools.",
    },
    {
      id: "T-FILE-7",
      threat:
        "A file is changed, replaced, or swapped for a link while jp waits for an answer, and the yes " +
        "to what was shown changes or deletes something else.",
      defence:
        "Each question is bound to the real file, its content and the change. If any of them differs " +
        "when the answer arrives, also in another process, jp asks again and shows the new change.",
    },
    {
      id: "T-FILE-8",
      threat:
        "A model, or a server in its place, sends a file whose type leads to a path or a program, or whose content attacks whoever " +
        "opens it.",
      defence:
        "Its bytes are stored under their digest, with one of a few known extensions, readable by the user alone. jp never opens " +
        "it. The desk sends it only as a download. A link is listed, and not loaded. What you open yourself is up to you.",
    },
  ],
};

const others: Area = {
  title: "Models and other programs",
  threats: [
    {
      id: "T-USER-1",
      threat:
        "Another user of the machine reads local conversations, or writes what jp takes for the user's own: trust, markers " +
        "of turns, compiled code.",
      defence:
        "The user's folders are for the user alone, whatever the umask, and those of earlier versions are tightened when " +
        "they are opened. A folder of someone else is refused, and a file with trust that others may write counts for nothing.",
    },
    {
      id: "T-RUN-1",
      threat: "A shell reads a model's argument as code.",
      defence: "It is always a single word, in the program's text and in its arguments.",
    },
    {
      id: "T-RUN-2",
      threat: "A tool's context gives orders to the model that answers its question.",
      defence:
        "It is inside a fence that it cannot close. A model may still obey it, so reserve such " +
        "questions for people.",
    },
    {
      id: "T-RUN-3",
      threat: "A program or a web page on this machine talks to `jp mcp serve --http`.",
      defence: "jp listens on loopback only, and requires a token and the right host.",
    },
    {
      id: "T-INQ-1",
      threat:
        "A tool asks a model again and again, and each time the provider reads the whole " +
        "conversation anew, at full price.",
      defence:
        "The request starts byte for byte like the conversation's own, tools included, so that the " +
        "provider's cache serves both. Only the last of three attempts may give up the cache. All " +
        "of them keep the tools.",
    },
    {
      id: "T-INQ-2",
      threat: "A model that is asked for an answer calls a tool instead, or in addition.",
      defence: "Nothing runs. Such a reply is not an answer, and the third one fails the question.",
    },
    {
      id: "T-PROG-1",
      threat:
        "`PATH` has an empty or relative entry, and a workspace brings its own `sh`, `stty` " +
        "or editor.",
      defence:
        "jp looks for the programs it runs itself in absolute folders only. Commands of configured tools are looked up as usual.",
    },
    {
      id: "T-PROG-8",
      threat:
        "A sandboxed command writes a `git` to a folder of the workspace that is in the user's `PATH`, such as `.venv/bin`, and " +
        "jp runs it outside of the sandbox.",
      defence:
        "`git`, its `ssh` and `rg` are found in absolute folders of `PATH` that, like the program itself, really lie outside of the " +
        "workspace. The folders are looked up once per process, and git gets a `PATH` of these only. `sh`, `bash`, `stty`, `ps` and " +
        "`bwrap` come from the system's own folders.",
    },
    {
      id: "T-PROG-10",
      threat:
        "A variable such as `LD_LIBRARY_PATH`, `LD_PRELOAD`, `BASH_ENV` or `GIT_CONFIG_COUNT` leads into the workspace, also one that " +
        "`shell.env` passes on, and a program that jp starts for itself loads code from there, outside of the sandbox.",
      defence:
        "`git`, `rg`, `stty`, `ps`, `bwrap` and the watchdog get only variables that jp has chosen by name. Bubblewrap sets those of the command " +
        "inside. They are not among its arguments, which other users can see. jp itself, local tools, notifications and the editor get " +
        "the user's variables.",
    },
    {
      id: "T-PROG-9",
      threat:
        "A command that a model wrote writes a program to such a folder under a name that the user's config or `EDITOR` has without a " +
        "path, for an MCP server, for notifications or as the editor, or under that of an attached command.",
      defence:
        "Where `PATH` leads to a file of the workspace, that file is a claim, and the trust question names it. Until it is " +
        "trusted, the server and the notifications are left out, and the editor is not opened. Servers and notifications keep the program " +
        "that was found first in a process. An attached command does not run such a program. Local tools, and programs that any of these start, " +
        "are out of reach.",
    },
    {
      id: "T-PROG-2",
      threat: "Another user puts code where Node caches the compiled code of jp.",
      defence:
        "It is cached below a folder that the user owns, or not at all: never in the temporary folder, and not in another " +
        "user's home under sudo.",
    },
    {
      id: "T-PROG-3",
      threat:
        "A script, its program or a file that its command names is changed, or swapped for a link, " +
        "after the user has approved a call and before it runs.",
      defence:
        "A local tool is described by the content of its program and of the files that its command " +
        "names, read again for each call. `subject_ignore` leaves out files by the path as written. The same counts on " +
        "another machine that continues the turn.",
    },
    {
      id: "T-PROG-4",
      threat:
        "After the yes, a file above 1 MB gets other content of the same size, and its old modification time.",
      defence:
        "Up to 1 GB, the content counts. Above, the size and the change time do, which a program cannot set.",
    },
    {
      id: "T-PROG-5",
      threat:
        "After the yes, the program of a script's `#!` line is changed, also one that `env` starts.",
      defence:
        "The programs that `#!` lines name are part of the call, and so are the files that those lines name. If such a program " +
        "is a script, its own line counts too.",
    },
    {
      id: "T-PROG-6",
      threat:
        "After the yes, a file is changed that a command reaches without naming its path as a word: in a folder that it enters, as its " +
        "input, or as the value of an option or an assignment.",
      defence:
        "All values are looked up, in each folder that a word of the command names, up to 16 of them. Names that a shell makes at run " +
        "time, such as patterns and variables other than `HOME`, are not.",
    },
    {
      id: "T-PROG-7",
      threat:
        "A kept digest of a long file stands for other content: the file was written twice within the clock's resolution, or " +
        "someone else wrote the cache.",
      defence:
        "A digest is kept only if the file has not changed for two seconds, and is used only for the same device, inode, size, modification " +
        "and change time. A cache that is damaged, or that others could read or write, counts as empty.",
    },
    {
      id: "T-PROG-11",
      threat:
        "A sandboxed command changes the code of a jp that is installed in the workspace, and jp loads it while it runs.",
      defence:
        "In the sandbox, jp's package in a `node_modules` of the workspace and the packages that it needs are read-only, and the folders " +
        "on the way there cannot be moved. A checkout of jp that is the workspace itself is not covered, and neither are the links to jp " +
        "in `node_modules`, which the next start follows.",
    },
    {
      id: "T-COMPAT-1",
      threat:
        "The Rust original opens one of our conversations, does not understand its config, and " +
        "starts it over or not at all.",
      defence:
        "Base config and config deltas hold only keys and values that it knows, and everything " +
        "that it requires. The rest is in events of a type that it keeps unchanged.",
    },
    {
      id: "T-COMPAT-2",
      threat:
        "It saves a conversation, and a refusal becomes a null: nothing says that there was no " +
        "answer, or who answered.",
      defence:
        "Every response has an answer, which is null if there is none. Outcome, reason and who " +
        "answered are also in the metadata, which it keeps. A null without them is not an answer. " +
        "It cannot open a conversation with a secret question.",
    },
    {
      id: "T-RUN-4",
      threat:
        "A non-interactive run denies a permission, a question or a result, and looks like a " +
        "success to CI.",
      defence:
        "jp prints the answer, lists on standard error what it denied, and exits with status 3.",
    },
    {
      id: "T-RUN-5",
      threat:
        "A tool or a server asks again and again, with a new question id each time, and gets an " +
        "answer each time without a person.",
      defence:
        "`conversation.limits` caps such answers per call and per turn. Then the call fails " +
        "(`attempts_exhausted`).",
    },
    {
      id: "T-RUN-6",
      threat: "A tool fills the record with a huge question, many questions or a huge result.",
      defence:
        "`conversation.limits` caps how many bytes a call may add. jp neither asks nor records a " +
        "question beyond the limit, and the call fails. A result is truncated and says so.",
    },
  ],
};

const commands: Area = {
  title: "Command lines",
  threats: [
    {
      id: "T-SHELL-1",
      threat:
        "A command that a model wrote reads keys in the home, or changes files outside of the workspace.",
      defence:
        "In the sandbox the system is read-only, the home, other homes, other disks and jp's folders are hidden, and `/tmp` is " +
        "its own. It has no capabilities, also if jp runs as root, and none of the descriptors that jp inherited. The rest of the system can be read. Without a sandbox, " +
        "nothing of this holds: the prompt says so.",
    },
    {
      id: "T-SHELL-2",
      threat:
        "It sends what it has read elsewhere, or uses a service of this machine, such as the desk.",
      defence:
        "The sandbox has no network, not even loopback, unless the call says so and is approved: that reaches programs on this machine " +
        "too, also through abstract sockets, and the prompt says so. Sockets with a path are covered, also in the workspace, except " +
        "those of containers, those that were renamed, and those that a program opens while the command runs.",
    },
    {
      id: "T-SHELL-3",
      threat: "It signals jp, keeps running after its call, or outlives jp.",
      defence:
        "It sees only its own processes, which end with it, with a timeout, with Ctrl-C and with jp, also if that is killed. " +
        "Without a sandbox, a process that leaves its group survives.",
    },
    {
      id: "T-SHELL-4",
      threat: "It writes config or hooks that git or jp run later, outside of the sandbox.",
      defence:
        "In the workspace, `.jp`, `.jp.*` and `.git` are read-only. With `git`, to which the user agrees each time, Git's config, hooks, " +
        "attributes, submodules and worktrees still are. Empty folders stand in for `.git`, its hooks and `.jp` where they are " +
        "missing; other protected names are removed when the command ends. Scripts that you run later are not covered.",
    },
    {
      id: "T-SHELL-12",
      threat:
        "It makes the user's next Git command, or a snapshot of jp's, run a program: by a repository in the place of the workspace or of a " +
        "submodule, by hooks or included config elsewhere in the workspace, by a linked worktree, a renamed parent of any of them, or " +
        "by the steps of a rebase.",
      defence:
        "Git itself says which files and hooks its config names, at all levels and whatever their conditions: those in the workspace are " +
        "read-only, and so is `.git` of the workspace, of each submodule in the index and of each linked worktree. Their parents " +
        "cannot be renamed, and empty files or folders stand in for what is missing, also for one of the names by which Git would take " +
        "the workspace itself for a repository. Where a link is in the way, there is no sandbox. A repository that a command makes " +
        "elsewhere in the workspace is named in its result.",
    },
    {
      id: "T-SHELL-5",
      threat:
        "A command hides behind one that a rule allows, by quotes, substitutions, assignments or other shell syntax.",
      defence:
        "A rule allows a command line only if it allows every part of it, word by word, and no part has anything that a shell " +
        "replaces, redirects or defines. Two readers must agree on the words. With an input, which a shell would run, or a network, " +
        "only a rule about the exact call counts.",
    },
    {
      id: "T-SHELL-6",
      threat:
        "A command reads passwords or keys from the user's environment and prints them, so that they reach the model's provider.",
      defence:
        "Only variables that are known to hold no secret are passed on, and those that `shell.env` names in the user's own config. " +
        "Proxies are passed on only with a network, and without a user and a password. Variables of jp, and those that " +
        "`shell.hide_env` names, never are.",
    },
    {
      id: "T-SHELL-7",
      threat:
        "The program or script of an approved command is changed before it runs, or the sandbox is gone.",
      defence:
        "The digest of the call has the programs and files that the command names, and whether it is confined and has a network. " +
        "What those load in turn is out of reach.",
    },
    {
      id: "T-SHELL-8",
      threat:
        "A workspace or a conversation loosens how commands are confined, or sets a mode in which less is asked.",
      defence:
        "`shell`, and any mode but `plan`, count only in the user's own config. jp warns about them in files of a workspace, even " +
        "trusted ones, and never records them with a conversation.",
    },
    {
      id: "T-SHELL-9",
      threat:
        "A command reads or adds keys of the person in the keyrings of the kernel, or types into a terminal.",
      defence:
        "A filter of system calls in the sandbox fails `keyctl`, `add_key` and `request_key` as on a kernel without keys, also for 32-bit " +
        "programs, and the requests that type into a terminal. The lists of keys in `/proc` are hidden. Not on macOS.",
    },
    {
      id: "T-SHELL-10",
      threat:
        "The sandbox itself fails, and the model takes that for the failure of a command that has run.",
      defence:
        "Bubblewrap reports through a pipe of its own whether the command was started. If not, the result says that nothing was run. Not on macOS.",
    },
    {
      id: "T-SHELL-11",
      threat:
        "A command takes so many processes, files, or so much memory or time that the machine stops responding.",
      defence:
        "`shell.limits` limits all of them, in the user's own config only. Memory has no limit by default; the kernel ends a command " +
        "first when it runs out. Processes are limited in the sandbox only, from Linux 5.14, and not for root. Memory and files " +
        "count for each process.",
    },
  ],
};

const attached: Area = {
  title: "Attachments",
  threats: [
    {
      id: "T-ATT-1",
      threat:
        "A document gives orders: it poses as the user, as the system, or as another document.",
      defence:
        "Documents are messages, never part of the system prompt. Each is in an element that it cannot close, after a " +
        "sentence that says that the user has not written it. A model may still obey it.",
    },
    {
      id: "T-ATT-2",
      threat:
        "What is attached is huge, endless, compressed, a pipe or a device, or has very many parts.",
      defence:
        "Files, folders, pages, commands and resources have limits. jp opens only regular files, without waiting, and " +
        "reads nothing more once there is too much.",
    },
    {
      id: "T-ATT-3",
      threat:
        "A text that the user pastes mentions a file with passwords, by its name, another spelling or a link, or a " +
        "folder or pattern contains one.",
      defence:
        "Such files are recognized by where the path leads, and are attached only if the user names them with `-a`. Files " +
        "whose names say nothing are not recognized.",
    },
    {
      id: "T-ATT-4",
      threat:
        "A page redirects to a service of this machine or its network, or its name means another address by then.",
      defence:
        "jp follows no redirect to a private address, whatever name leads there, except to the address and port of the " +
        "first connection, and none from https to http.",
    },
  ],
};

const servers: Area = {
  title: "MCP servers that hang, flood or deceive jp",
  threats: [
    {
      id: "T-MCP-1",
      threat: "A server never replies to a call, or reports progress forever.",
      defence:
        "The call ends after `timeout_secs`, which defaults to 300 for MCP tools. Progress does " +
        "not extend it. Only the time during which a person is asked does not count.",
    },
    {
      id: "T-MCP-2",
      threat:
        "A server floods jp: an endless message, progress, requests whose replies it never reads, " +
        "questions outside a call, pages of its tool list, or streams that it cuts at once.",
      defence:
        "Each has a limit. jp drops progress beyond it, reopens a stream at most every half " +
        "second, and closes the connection for anything else. Memory does not grow with the flood.",
    },
    {
      id: "T-MCP-3",
      threat:
        "A server changes the description, schema or hints of a tool after the user has approved a call.",
      defence:
        "A tool is described by its definition as the server lists it right now, along with the " +
        "server's command or address.",
    },
    {
      id: "T-MCP-4",
      threat:
        "A server offers a tool with the name of another server's, or has another server's name, to get its calls.",
      defence:
        "Neither of two tools of the same name is available, unless config says whose tool has the name. In a " +
        "program, the turn fails. Within a turn, a name stays with the server that had it first. If a workspace's " +
        "server has the name of the user's own, the question of trust says so, and which tools run without asking.",
    },
    {
      id: "T-MCP-5",
      threat:
        "A form of a server has a pattern or a format whose check never ends, so that not even Ctrl-C helps.",
      defence:
        "jp checks only the formats that the protocol names, and every check of a value has one " +
        "limit of time. A value whose check takes longer is left to the server.",
    },
    {
      id: "T-MCP-6",
      threat:
        "A server acts, and returns a result that is not valid, so that the model takes the call for one that did " +
        "not run, and repeats it.",
      defence:
        "Such a call is reported as run. An error of a server is reported as its answer, not as proof that nothing ran.",
    },
    {
      id: "T-MCP-7",
      threat:
        "A server, or whoever redirects its requests, gets the token for another server: by a redirect, by an address " +
        "under the same name, or by naming its own authorization server.",
      defence:
        "A token belongs to the server's address and is renewed only where it was issued. jp follows no redirect to " +
        "another host. An authorization server needs https, unless both it and the server are on this machine, and has to be " +
        "who it says it is, in its metadata and in its reply.",
    },
    {
      id: "T-MCP-8",
      threat:
        "A token ends up in a record, a log, an error or evidence, or another user of the machine reads it.",
      defence:
        "Tokens are only in a file of their own in the user's data folder, which no one else may read. Messages about " +
        "logins quote no response that is not an error of OAuth, and no token.",
    },
    {
      id: "T-MCP-9",
      threat:
        "A cloned workspace names a server whose login sends the user to an attacker's page, or a page that the user " +
        "opens sends jp a code of its own.",
      defence:
        "A login starts only by a command, and an untrusted server cannot be logged in to. For a server of the workspace, jp " +
        "names the authorization server and asks before it sends anything there. A reply counts only with the state of " +
        "this login, and a code is exchanged only with its verifier.",
    },
  ],
};

const desk: Area = {
  title: "The desk, over HTTP",
  threats: [
    {
      id: "T-DESK-1",
      threat:
        "A web page that the user opens talks to the desk: from another site, or from a name that " +
        "it points at this machine (DNS rebinding).",
      defence:
        "The Host header has to be one of the desk's own addresses, Origin and Sec-Fetch-Site its " +
        "own origin. jp checks this before any token, and allows no other origin. The desk has no " +
        "cookies: a browser sends nothing by itself that counts. Each local desk has its own name " +
        "below localhost, so no other local server shares its storage in the browser.",
    },
    {
      id: "T-DESK-2",
      threat: "A link, a form or a preview answers in the user's name.",
      defence:
        "A GET never changes anything. A POST needs JSON, and every request a token that the page " +
        "adds itself. The login of a link is in the fragment, which previews do not send, and is " +
        "used by a POST.",
    },
    {
      id: "T-DESK-3",
      threat: "A name, an id or the text of a question injects headers or script into the page.",
      defence:
        "The policy of the page allows only its own script and style, no frames and no forms. " +
        "Nothing from outside is in a header, and everything that the API sends is JSON.",
    },
    {
      id: "T-DESK-4",
      threat: "A path reaches files of the disk.",
      defence:
        "The desk serves a fixed list of files from memory. Paths are compared, never resolved.",
    },
    {
      id: "T-DESK-5",
      threat:
        "A client sends too much, too slowly or too often, or opens many connections and does not " +
        "read.",
      defence:
        "Bodies, headers, connections, event streams and what is kept for a slow reader have " +
        "limits, and requests have timeouts. A client that does not wait for a response before its " +
        "next request, or does not read, loses its connection. Long conversations come in parts. " +
        "A connection on which no whole request has come is closed for a new one if there are too " +
        "many, of one address or in all. Requests beyond what the desk can work on get 503. " +
        "Wrong tokens are counted for each address. Each " +
        "person has a limited number of sessions, and the audit a limited size.",
    },
    {
      id: "T-DESK-6",
      threat:
        "Someone guesses, reuses or finds a login or a token, or keeps using it after they were " +
        "removed.",
      defence:
        "Logins work once, for ten minutes, and a QR code of one is printed on a terminal only. " +
        "Whoever makes one on the page makes it for themselves. Secrets have 256 random bits and are stored and " +
        "compared as hashes, in constant time. Sessions expire, and one that has ended does not " +
        "come back, even after a restart. Each request, and each event that " +
        "is sent, checks whether the person still exists and may see it. Logins and refused " +
        "tokens are audited.",
    },
    {
      id: "T-DESK-7",
      threat: "A person answers as another.",
      defence:
        "The name on record is that of the token or the session. A request cannot contain one, " +
        "and names that look the same cannot both be added: letters of other alphabets, case, " +
        "spaces and invisible characters do not make a difference. Whoever adds a person of their " +
        "own name is warned. A question for one person is not answered or cancelled by others, but " +
        "whoever may administer can cancel it. The page logs no one in with a link that contains a " +
        "token: it could be someone else's.",
    },
    {
      id: "T-DESK-8",
      threat:
        "A stored session is stolen, forged, or used for more than it was started for: by another " +
        "user of the machine, by a server that takes the port of a stopped desk, or after the desk " +
        "was started again for other workspaces.",
      defence:
        "A session belongs to a key that the browser keeps and does not let out. With it, the page " +
        "signs a nonce of the running desk, and gets a token that ends with that process. So what " +
        "a page sends to another server on the port is worthless at the desk. While it runs, the " +
        "desk holds the port on 127.0.0.1 and ::1. A page that is loaded from such a server has " +
        "the origin of the desk, though: it can use the key if it is still open, or has left a " +
        "service worker, when the desk is back on that port. An open page reloads by itself when the server names another build, so it can also be " +
        "loaded from such a server without anyone's doing, unless the desk is served over HTTPS. The files of people and sessions have only hashes. jp does not use one that belongs to " +
        "someone else, that others can read or write, or that is damaged. A session counts only " +
        "for the origin and the workspace that it was started for.",
    },
    {
      id: "T-DESK-9",
      threat:
        "An answer, perhaps a secret, reaches another question than the one that the person has " +
        "read: a later one with the same id, one whose call has changed since, or one of another workspace.",
      defence:
        "An answer carries the digest of what was read, and jp refuses it if something else waits. " +
        "The page and the client also send when the question was asked. If several workspaces have a conversation, the request has to name one, unless " +
        "the question waits in only one of them.",
    },
    {
      id: "T-DESK-10",
      threat:
        "A question, a path, an argument, an option or a change looks on the page like another one, " +
        "or part of it is not shown.",
      defence:
        "Where a yes acts, the page shows everything verbatim and folds nothing. Letters stand from " +
        "left to right, whatever cannot be seen is shown by its code point, and numbers tell lines " +
        "from rows that are only wrapped. Only other prose is Markdown: a part of it that would lack " +
        "a word is shown as it was written.",
    },
    {
      id: "T-DESK-11",
      threat:
        "Someone approves what they have not read, by a stray Enter, or without the right to.",
      defence:
        "A yes to what acts takes the right to approve, however the tool asks. On the page it can " +
        "only be given once the end of the text was in view, and Enter in a field does not give it.",
    },
  ],
};

const people: Area = {
  title: "People and roles",
  threats: [
    {
      id: "T-PEOPLE-1",
      threat:
        "Someone decides what is for a role that they do not have: by a name in their config, by a " +
        "name that is that of the role or looks like another, or as one of several people who use the same account.",
      defence:
        "What is for a role takes a person of the people file, or of the database. On a terminal that is the only one " +
        "whose OS user runs jp, and at the desk the one whose token it is. While there are none, it waits. Names and roles are " +
        "never compared with each other, and none is added that looks like another.",
    },
    {
      id: "T-PEOPLE-2",
      threat:
        "An answer to what is for a role was written by someone who only says that they have it, or who has lost it since.",
      defence:
        "The turn that takes an answer up looks for the person itself, in the people file or the database, and again " +
        "before the call runs. A decision that does not hold is void, and is asked again.",
    },
    {
      id: "T-PEOPLE-3",
      threat:
        "A model, a default, a saved permission, the mode, a policy for when no one is there, or " +
        "what someone else said for the whole turn decides in place of those whom it is for.",
      defence:
        "None of them is consulted: it waits. Edited arguments are judged again, and denied if " +
        "others have to decide about them. A command whose parts are for different people does not run.",
    },
    {
      id: "T-PEOPLE-4",
      threat: "A workspace says that someone else decides, or that anyone does.",
      defence:
        "A `target` of a question, a tool or a rule in a workspace's files is a claim, unless the user's config says the same. " +
        "Only the user's own config can set `people.owner_alone`.",
    },
    {
      id: "T-PEOPLE-5",
      threat:
        "Fewer people decide than have to: one counts twice, or after losing the role, or approves " +
        "what they asked for; config, a model or a default counts; someone changes the call after others approved it.",
      defence:
        "Votes are on record, and counted by person, one after the other. The turn counts again those who " +
        "may decide. Only people count. Edited arguments start again. Who has started the turn is on " +
        "record, and if it is not known, no one can decide.",
    },
    {
      id: "T-PEOPLE-6",
      threat:
        "People are in a database. Another tenant, a damaged row, a notification that was lost or a network that is gone lets " +
        "someone in, two administrators undo each other's changes, or someone writes to the tables.",
      defence:
        "Each tenant has its own people. No one gets in by rows that jp cannot read, or on what a desk has known for more than " +
        "five seconds. Changes run one after the other, each with all checks. The owner of a desk is never in the " +
        "database. But whoever can write to the tables of people and sessions can add a person, a right, a role or a key, log in " +
        "as anyone but an owner, or remove everyone: then what takes people waits. And whoever controls the accounts " +
        "of a machine is, on its terminals, each person whose OS user has that name.",
    },
    {
      id: "T-TERMS-1",
      threat:
        "A yes outlives its terms: it was given before a role, a name, several people, someone else than who asked, or a " +
        "signature was required, or by someone who has left or lost the role since; or a process that does not know the " +
        "people uses it.",
      defence:
        "The terms are recorded when a request is opened, and every answer is judged against them, wherever it arrives. Before a " +
        "decision is used, the same judge holds it, with its votes and signatures, against the people known then and " +
        "against the terms with which it would be opened then. One that fails is void, and asked again. A process that cannot " +
        "know the people neither uses it nor makes it void.",
    },
    {
      id: "T-PEOPLE-7",
      threat:
        "Someone is removed, another account gets the same name, and decides what was meant for the first one.",
      defence:
        "Each person has an ID that is never given again, and the IDs of those who were removed are kept. Requests, answers and " +
        "votes record IDs beside names. What someone who is away has handed to a person who is removed is handed to no one.",
    },
    {
      id: "T-PEOPLE-8",
      threat:
        "An administrator at the desk adds accounts, or has an account of theirs add them, and outvotes the people who have to decide.",
      defence:
        "An account that was made at the desk decides nothing that names people, and administers nothing, until the command line confirms it, or " +
        "an administrator does who did not make it, and neither made its maker nor was made by them. It does not count for requests from before. " +
        "Roles are given on the command line only. Two independent administrators who work together can do it, and so can whoever " +
        "has the command line; `jp serve people log` shows it.",
    },
  ],
};

const notifications: Area = {
  title: "Notifications",
  threats: [
    {
      id: "T-NOTE-1",
      threat:
        "A cloned workspace or a record sends questions elsewhere, runs a program for them, lets " +
        "them say more, or makes their links lead to another site.",
      defence:
        "Everything under `notify` in a workspace's files is a claim. A conversation never records " +
        "or sets it.",
    },
    {
      id: "T-NOTE-2",
      threat: "A notification carries a secret, or more of a question than the user allows.",
      defence:
        "A message is built from a fixed list of fields, by `notify.content`. Keys come from the " +
        "environment, reach only their own channel, and are in no message or error. Webhooks use " +
        "https, except on this machine, and are not redirected.",
    },
    {
      id: "T-NOTE-3",
      threat:
        "A tool or model puts line breaks, control characters, shell code, strange ids or very long " +
        "text into a question: to run something, to change a link, to add headers where a command sends an e-mail.",
      defence:
        "jp neutralizes and truncates all of it. Subjects are jp's own words. Commands run without a " +
        "shell and get no text in their arguments. Ids are percent-encoded in links.",
    },
    {
      id: "T-NOTE-4",
      threat: "Someone posts forged or repeated notifications to a webhook's receiver.",
      defence: "Each is signed, with its time and an id that stays the same when jp tries again.",
    },
  ],
};

const web: Area = {
  title: "Pages that a model fetches",
  threats: [
    {
      id: "T-WEB-1",
      threat:
        "A model, or a page that it has read, names a service of this machine or its network, by any notation of its " +
        "address or by a name that leads there, now or later.",
      defence:
        "`web_fetch` connects only to public addresses, and exactly to one that was checked, for each redirect anew. The user may " +
        "name private hosts, each with its port; a workspace's file that does so needs trust, and a conversation cannot.",
    },
    {
      id: "T-WEB-2",
      threat:
        "An address looks like another one, so that the user or a rule takes its host for another: by letters of another " +
        "script, a user name, backslashes, or characters that are ignored.",
      defence:
        "The prompt shows the address verbatim, and the host as it will be looked up wherever that is written otherwise. `web_fetch` " +
        "refuses user names, spaces, control characters, backslashes, and a dot after the host.",
    },
    {
      id: "T-WEB-3",
      threat: "A page on a host that is allowed redirects to one that is not.",
      defence:
        "`web_fetch` follows redirects on the same host and port only, and from http to https, never back. Of any other it " +
        "tells the model the address, which is a new call. A rule about a path does not bind the server.",
    },
    {
      id: "T-WEB-4",
      threat:
        "A server sends a page that is endless, slow, compressed out of proportion, or costly to read.",
      defence:
        "A page has 5 MB, decompressed, and 30 seconds. Reading HTML takes time in proportion to its length.",
    },
    {
      id: "T-WEB-5",
      threat: "A page gives orders to the model, hides text from people, or poses as words of jp.",
      defence:
        "jp's own words about a page come before all of its text. Hidden elements, comments, and characters that cannot be " +
        "seen are left out or replaced; what only a style sheet hides is not. A model may still obey what it reads.",
    },
    {
      id: "T-WEB-6",
      threat: "A model sends what it knows to a server, as part of an address.",
      defence:
        "`web_fetch` is off until the user enables it, and asks before each call, with the whole address, unless the user's " +
        "config says otherwise. It sends no cookies and no keys.",
    },
  ],
};

const proof: Area = {
  title: "What an export of decisions proves",
  threats: [
    {
      id: "T-PROOF-1",
      threat:
        "Someone changes an export of decisions: a field, the order, or they leave out or repeat a part, or cut off its end.",
      defence:
        "Each statement is signed, and has the random ID of its export and its position. The last one has the count, the heads " +
        "of the chains, and a digest of all others. `jp evidence verify` names what is wrong. Whoever has the key of the " +
        "machine can sign anything.",
    },
    {
      id: "T-PROOF-2",
      threat:
        "Someone joins parts of two genuine exports, uses a signature again, or signs an export with a key of their own.",
      defence:
        "Statements of another export are refused, and signatures are of one statement. A key of someone else is refused if the " +
        "verifier is told which key to expect; if not, it says that the export is self-signed.",
    },
    {
      id: "T-PROOF-3",
      threat:
        "Someone removes a decision from the record, adds one, or edits one, before it is exported.",
      defence:
        "The chain beside the record commits to each event. An export names the links whose events are gone or changed, and the " +
        "decisions without a link. Whoever can write the files can rewrite both, unless a head of the chain is kept elsewhere.",
    },
    {
      id: "T-PROOF-4",
      threat:
        "An export shows what was asked and answered to a reader who was to see only that it was decided.",
      defence:
        "Without `--content`, an export has codes, names, times and digests. Events are committed to with a salt that stays " +
        "behind, so that no one can try out guesses. Secrets are in no event. Names of tools, questions and people are shown.",
    },
    {
      id: "T-PROOF-5",
      threat:
        "An export from someone else, or a name in it, acts on the terminal, a spreadsheet or a Markdown reader.",
      defence:
        "What comes from a file is neutralized before it is printed. In a report, no cell begins like a formula, and what " +
        "Markdown would act on is escaped.",
    },
    {
      id: "T-PROOF-6",
      threat: "Another user of the machine reads the key, or puts one of their own in its place.",
      defence:
        "The key is in a file that only its owner may read. A file that others may read or write, or that is a link, is refused.",
    },
    {
      id: "T-PROOF-7",
      threat:
        "Whoever has the machine's key forges decisions in the record and builds chain and export anew: votes that count twice, " +
        "other people, lower terms, missing signatures, edits that no one has signed.",
      defence:
        "Links hold what a decision takes and who said what, and both verifiers judge every decision again. They name each that " +
        "does not meet its terms, and count those that they could not judge and those that the owner of the machine made in the " +
        "place of people. A chain that was rewritten as a whole, with weaker terms or other people who would have been allowed " +
        "to decide, only an anchor from before shows, or the signatures of the people.",
    },
    {
      id: "T-ANCHOR-1",
      threat:
        "The owner of a machine rewrites decisions and signs them again, or puts an anchor of something else into an export.",
      defence:
        "An anchor has the digests of heads. The chain has to pass through each head that an export shows, each has to be in an " +
        "anchor, and a time stamp has to be one of that anchor, from an authority that the verifier trusts. A commit has to be " +
        "in the repository. What was rewritten before it was anchored, and anchors that are left out, cannot be told.",
    },
    {
      id: "T-ANCHOR-2",
      threat:
        "A time stamp authority, a git repository, or someone on the way sends something else than what was asked for.",
      defence:
        "A response has a limit of size and time, and its digest, nonce, signature and certificate are checked before it is kept. " +
        "From a repository, jp checks out nothing and runs nothing, pushes only on top of what is there, and never prompts.",
    },
    {
      id: "T-ANCHOR-3",
      threat: "A workspace says where to anchor, or that nothing is to be anchored.",
      defence: "Only the user's own config counts. jp ignores the key in a workspace, and says so.",
    },
    {
      id: "T-ANCHOR-4",
      threat: "Whoever sees an anchor, or an export with one, learns of other conversations.",
      defence:
        "An anchor is one digest. An export with an anchor has the digests of all its heads, which are unguessable, and shows only " +
        "those of the conversations in it. Their number can be seen.",
    },
  ],
};

const signatures: Area = {
  title: "Signed approvals",
  threats: [
    {
      id: "T-SIGN-1",
      threat:
        "Something that has to be signed is approved without: by a program, a model, a file of answers, or someone who " +
        "writes to the record.",
      defence:
        "Whatever takes an answer checks the signature before it records it, and the turn checks it again, with the keys in " +
        "the people file or the database, before anything runs. Whoever can write there can add a key.",
    },
    {
      id: "T-SIGN-2",
      threat:
        "A signature is used for something else than what was signed: another answer, another decision, another person, or " +
        "the same decision when it is asked again.",
      defence:
        "What is signed has the digest of what was shown, the ID of the decision, the answer, the person and a nonce. The " +
        "nonce has a time, and a signature from before the question does not count. The desk takes each nonce once.",
    },
    {
      id: "T-SIGN-3",
      threat: "Someone else uses the key of a person: from its file, or through the SSH agent.",
      defence:
        "A key file that others may read or write is refused. What an agent answers is read with limits. Whoever runs " +
        "programs as this user can use both; a passkey asks for a gesture each time.",
    },
    {
      id: "T-SIGN-4",
      threat:
        "A passkey is added for someone else, or a page of another site, or a passkey that does not verify who uses it, " +
        "approves.",
      defence:
        "People add passkeys for themselves only, logged in with their own token. The desk checks the origin, the name it is " +
        "for, that the passkey has verified the person, and its counter.",
    },
    {
      id: "T-SIGN-5",
      threat:
        "Someone with a stolen token or session adds a passkey of their own beside the person's, replaces or removes one, or uses " +
        "a link that was meant for another person, was used, or is old.",
      defence:
        "A change of passkeys at the desk takes a signature by a passkey of the same person, over the new key, the person and a nonce that " +
        "counts once, in the same session, for two minutes. The first one, also at another address or after a loss, takes a link from the " +
        "command line, which works once, for 24 hours, for one person who is logged in. A change ends their other sessions, is logged " +
        "and announced, and the page shows it at the next login. Whoever has both the token and the link, or the passkey itself, can do it.",
    },
  ],
};

const tenants: Area = {
  title: "Tenants that share a database",
  threats: [
    {
      id: "T-TENANT-1",
      threat: "A tenant reads or changes what another has, with SQL of its own.",
      defence:
        "Policies on rows compare the tenant of each with the login, in a table that only the owner writes, and every " +
        "statement of jp names the tenant. It can hear that something has changed.",
    },
    {
      id: "T-TENANT-2",
      threat: "A login makes itself another tenant's, or turns the policies off.",
      defence: "Roles have the rights that jp needs, and no others.",
    },
    {
      id: "T-TENANT-3",
      threat: "A tenant keeps all workers busy, fills the disk, or starts turns without end.",
      defence:
        "Limits for each tenant, which jp keeps. SQL of its own gets around them, but uses up no one else's.",
    },
    {
      id: "T-TENANT-4",
      threat:
        "A tenant takes the numbers of another's rows, or those that come next, so that the other can no longer write, or " +
        "its own rows seem to be the other's.",
      defence:
        "The tenant comes first in every key, so that rows of two tenants never meet. Only the server numbers rows: no " +
        "login has the right to set a key, or to move a row.",
    },
    {
      id: "T-TENANT-5",
      threat:
        "A tenant signs a turn in another's name, with a key that shared machines accept, so that a worker runs it with " +
        "the other's tools.",
      defence:
        "A signature names the tenant, the workspace and the conversation, and an accepted key counts for the tenants " +
        "that the config names beside it. A worker runs only turns whose signature counts for its own tenant.",
    },
    {
      id: "T-TENANT-6",
      threat:
        "A login for one tenant is also one of jp's own roles, or serves another tenant already.",
      defence:
        "The script of a login fails for such a name, in the database and in one transaction, and so does the command " +
        "that prints it.",
    },
    {
      id: "T-TENANT-7",
      threat:
        "A login keeps locks, opens connections, or fills the disk of the server, until others can no longer work.",
      defence:
        "Its script limits its connections, and sets time-outs, which a hostile login can lift. Locks and disk are left " +
        "to the server: fleet.md says how.",
    },
  ],
};

const fleet: Area = {
  title: "Turns in a database",
  threats: [
    {
      id: "T-FLEET-1",
      threat:
        "Someone who can write the rows puts an earlier signed state of a turn back, with its events and its chain, so that an " +
        "approval runs its tool once more.",
      defence:
        "Each signed state has a counter. A machine keeps the last state that it has signed or acted on, and refuses an older one, " +
        "another one with the same counter, and one without a counter. After a restored backup, a person on a terminal lets go of what " +
        "is newer, which is on record. A machine that has never seen the turn cannot know.",
    },
  ],
};

export const areas: readonly Area[] = [
  decisions,
  saved,
  rules,
  modes,
  provenance,
  terminal,
  paths,
  secrets,
  workspace,
  files,
  others,
  commands,
  undo,
  attached,
  web,
  servers,
  desk,
  people,
  notifications,
  proof,
  signatures,
  tenants,
  fleet,
];

const ids = new Set(areas.flatMap(({ threats }) => threats.map(({ id }) => id)));

/** Names the threats that a test covers. Call it with string literals: docs/project/threat-model.md is generated from these calls. */
export function counters(...cited: readonly string[]): void {
  for (const id of cited) {
    if (!ids.has(id)) throw new Error(`Unknown threat: ${id}`);
  }
}
