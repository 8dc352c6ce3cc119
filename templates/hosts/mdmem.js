// Memory for opencode, by `mdmem init --for opencode`: a block at the start of a session and for a prompt; what the summary of
// a compaction says is kept. An update of mdmem replaces this file, and `mdmem init --for opencode --undo` removes it.
import { spawn } from "node:child_process"

const MDMEM = "@MDMEM@"

export const Mdmem = async ({ client, directory }) => {
  const sources = new Map() // session → the source of its next start; null: it has its block
  const ask = (name, session_id, fields) =>
    new Promise((resolve) => {
      const child = spawn(MDMEM, ["agent-hook"], { cwd: directory, stdio: ["pipe", "pipe", "ignore"] })
      let text = ""
      child.stdout.on("data", (data) => (text += data))
      child.stdin.on("error", () => {})
      child.on("error", () => resolve(""))
      child.on("close", () => resolve(text.trim()))
      child.stdin.end(JSON.stringify({ hook_event_name: name, session_id, cwd: directory, ...fields }))
    })
  const block = async (...event) => {
    try {
      const { hookSpecificOutput, systemMessage: message } = JSON.parse(await ask(...event))
      if (message) client.tui.showToast({ body: { message, variant: "info", duration: 10_000 } }).catch(() => {})
      return hookSpecificOutput?.additionalContext
    } catch {} // no answer: there is nothing to say
  }
  const messages = async (id) => (await client.session.messages({ path: { id } })).data ?? []
  const isChild = async (id) => Boolean((await client.session.get({ path: { id } })).data?.parentID)
  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      if (await isChild(sessionID)) return // an agent's own agent
      const prompt = parts.flatMap((part) => (part.type === "text" && !part.synthetic ? part.text : [])).join("\n")
      const isResumed = (await messages(sessionID)).some(({ info }) => info.role === "assistant")
      const source = sources.has(sessionID) ? sources.get(sessionID) : isResumed ? "resume" : "startup"
      sources.set(sessionID, null)
      const blocks = [source && (await block("SessionStart", sessionID, { source })), await block("UserPromptSubmit", sessionID, { prompt })]
      blocks.filter(Boolean).forEach((text, number) => {
        const id = `${message.id.replace(/^msg/, "prt")}${number}`
        parts.push({ id, sessionID, messageID: message.id, type: "text", text, synthetic: true })
      })
    },
    "experimental.session.compacting": async ({ sessionID }, { context }) => {
      const text = await ask("PreCompact", sessionID, { trigger: "auto" })
      if (text) context.push(text)
    },
    event: async ({ event }) => {
      if (event.type !== "session.compacted") return
      const { sessionID } = event.properties
      const summary = (await messages(sessionID)).findLast(({ info }) => info.role === "assistant" && info.summary)
      const compact_summary = (summary?.parts ?? []).flatMap((part) => (part.type === "text" ? part.text : [])).join("\n")
      await ask("PostCompact", sessionID, { compact_summary })
      sources.set(sessionID, "compact")
    },
  }
}
