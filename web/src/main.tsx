// SPDX-License-Identifier: MIT
import { render } from 'preact';
import { start } from './chat/app';
import './style/page.css';
import './style/chat.css';
import './style/code.css';
import { App } from './ui/App';

void start();
render(<App />, document.getElementById('page')!);
