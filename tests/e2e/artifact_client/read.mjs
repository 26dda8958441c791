// Downloads an artifact with the official client, and prints what it sees of it: one line of JSON, the last line.
// The environment: what a runner offers (ACTIONS_RUNTIME_TOKEN, ACTIONS_RESULTS_URL), ARTIFACT_NAME, and the empty
// folder ARTIFACT_FOLDER for the files. The client itself prints to standard output too.
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { DefaultArtifactClient } from '@actions/artifact'

const { ARTIFACT_NAME: name, ARTIFACT_FOLDER: folder } = process.env
const client = new DefaultArtifactClient()

const { artifacts } = await client.listArtifacts()
const { artifact } = await client.getArtifact(name)
const { digestMismatch } = await client.downloadArtifact(artifact.id, { path: folder, expectedHash: artifact.digest })

const files = {}
for (const file of await readdir(folder)) {
  files[file] = createHash('sha256').update(await readFile(path.join(folder, file))).digest('hex')
}
const listed = artifacts.map((each) => each.name).sort()
console.log(`\n${JSON.stringify({ listed, id: artifact.id, size: artifact.size, digest: artifact.digest, digestMismatch, files })}`)
