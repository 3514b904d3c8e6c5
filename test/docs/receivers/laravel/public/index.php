<?php

$app = require dirname(__DIR__) . '/bootstrap/app.php';

$app->make(Illuminate\Contracts\Http\Kernel::class)->handle(Illuminate\Http\Request::capture())->send();
