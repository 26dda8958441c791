// Uploads a folder with an official client, as the inputs of action.yml say: each file under its path in that folder.
import { readdir } from 'node:fs/promises'
import path from 'node:path'

const { INPUT_NAME: name, INPUT_PATH: folder, INPUT_CLIENT: client } = process.env
const { DefaultArtifactClient } = await import(client)

const entries = await readdir(folder, { recursive: true, withFileTypes: true })
const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath ?? entry.path, entry.name))
await new DefaultArtifactClient().uploadArtifact(name, files, folder)
