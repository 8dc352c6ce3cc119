// Memory for Pi, by `mdmem init --for pi`: a block at the start of a session and for a prompt; what the summary of a
// compaction says is kept. An update of mdmem replaces this file, and `mdmem init --for pi --undo` removes it.
import { spawn } from "node:child_process";

const MDMEM = "@MDMEM@";

function ask(name: string, ctx: any, fields: object): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn(MDMEM, ["agent-hook"], { cwd: ctx.cwd, stdio: ["pipe", "pipe", "ignore"] });
    let text = "";
    child.stdout.on("data", (data) => (text += data));
    child.stdin.on("error", () => {});
    child.on("error", () => resolve(""));
    child.on("close", () => resolve(text.trim()));
    const session_id = ctx.sessionManager.getSessionId();
    const transcript_path = ctx.sessionManager.getSessionFile();
    const event = { hook_event_name: name, session_id, transcript_path, cwd: ctx.cwd, ...fields };
    child.stdin.end(JSON.stringify(event));
  });
}

async function block(name: string, ctx: any, fields: object): Promise<string> {
  try {
    return JSON.parse(await ask(name, ctx, fields)).hookSpecificOutput?.additionalContext ?? "";
  } catch {
    return ""; // no answer: there is nothing to say
  }
}

export default function (pi: any) {
  let source: string | undefined; // of the next start; empty: the session has its block
  pi.on("session_start", () => {
    source = undefined;
  });
  pi.on("before_agent_start", async (event: any, ctx: any) => {
    const entries: any[] = ctx.sessionManager.getEntries();
    const isResumed = entries.some((entry) => entry.message?.role === "assistant");
    source ??= isResumed ? "resume" : "startup";
    const start = source && (await block("SessionStart", ctx, { source }));
    source = "";
    const found = await block("UserPromptSubmit", ctx, { prompt: event.prompt });
    const content = [start, found].filter(Boolean).join("\n");
    if (content) return { message: { customType: "mdmem", content, display: false } };
  });
  pi.on("session_before_compact", async (_event: any, ctx: any) => {
    await ask("PreCompact", ctx, { trigger: "auto" });
  });
  pi.on("session_compact", async (event: any, ctx: any) => {
    await ask("PostCompact", ctx, { compact_summary: event.compactionEntry?.summary ?? "" });
    source = "compact";
  });
  pi.on("session_shutdown", async (_event: any, ctx: any) => {
    await ask("SessionEnd", ctx, {});
  });
}
